#include "packed/decode.h"

#include <cmath>
#include <cstring>

#include "packed/half.h"

namespace tandem {
namespace {

// Panels have no alignment for wider types, so values are copied out.
template <typename T>
T load(const std::byte* base, int64_t index) {
  T value;
  std::memcpy(&value, base + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// A dense panel has its 64 rows side by side, column after column.
float dense_value(PackedKind kind, const std::byte* panel, int64_t index) {
  switch (kind) {
    case PackedKind::f16:
      return half_to_float(load<uint16_t>(panel, index));
    case PackedKind::bf16:
      return bf16_to_float(load<uint16_t>(panel, index));
    default:
      return load<float>(panel, index);
  }
}

// The formulas of the numeric contract. Each rounds once: the product, or the fused multiply-add.
float value_of(const PackedFormat& format, int code, const Affine& affine) {
  const auto q = static_cast<float>(code);
  return format.min == MinKind::none ? q * affine.scale : std::fma(q, affine.scale, affine.minimum);
}

}  // namespace

// Brings all kinds of minimum into one form. A zero point z is the minimum -(z * scale), and a super block stores its
// minimum as an amount to subtract.
Affine affine_of(const PackedFormat& format, const TileView& view, int64_t group, int64_t row) {
  const int64_t shared = group * kPanelRows + row;
  const bool super = format.super_blocks();
  const float scale =
      super ? half_to_float(view.scale[row]) * (static_cast<float>(view.sub_scale[shared]) * format.scale_step())
            : half_to_float(view.scale[shared]);
  if (format.min == MinKind::none) return {scale, 0};
  if (format.min == MinKind::zero_point) return {scale, -(static_cast<float>(format.zero_point) * scale)};
  const float minimum = super ? -(half_to_float(view.minimum[row]) * static_cast<float>(view.sub_minimum[shared]))
                              : half_to_float(view.minimum[shared]);
  return {scale, minimum};
}

// A byte of 4-bit codes has the even column in its low half and the next column in its high half.
int code_of(const PackedFormat& format, const TileView& view, int64_t k, int64_t row) {
  if (format.kind == PackedKind::i8) return static_cast<int8_t>(view.codes[k * kPanelRows + row]);
  const uint8_t pair = view.codes[k / 2 * kPanelRows + i4_byte(row)];
  const int code = k % 2 == 0 ? pair & 15 : pair >> 4;
  return format.book == CodeBook::none ? code : format.book_values()[code];
}

// The reference of one weight. Every faster loop must give the same float.
float decode_weight(const PackedFormat& format, const std::byte* panel, int64_t column, int64_t row) {
  if (format.dense()) return dense_value(format.kind, panel, column * kPanelRows + row);
  const TileView view = tile_view(format, panel, column / kTileColumns);
  const int64_t k = column % kTileColumns;
  return value_of(format, code_of(format, view, k, row), affine_of(format, view, k / format.group, row));
}

// Columns of a group share scale and minimum, so these are computed once for each group.
void decode_packed_row(const PackedFormat& format, const std::byte* panels, int64_t columns, int64_t row, float* out) {
  const std::byte* panel = panels + row / kPanelRows * panel_bytes(format, columns);
  const int64_t r = row % kPanelRows;
  if (format.dense()) {
    for (int64_t k = 0; k < columns; ++k) out[k] = dense_value(format.kind, panel, k * kPanelRows + r);
    return;
  }
  for (int64_t first = 0; first < columns; first += kTileColumns) {
    const TileView view = tile_view(format, panel, first / kTileColumns);
    Affine affine;
    for (int64_t k = 0; k < kTileColumns; ++k) {
      if (k % format.group == 0) affine = affine_of(format, view, k / format.group, r);
      out[first + k] = value_of(format, code_of(format, view, k, r), affine);
    }
  }
}

}  // namespace tandem
