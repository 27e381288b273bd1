#include <cmath>
#include <cstring>

#include "engine/tensor/packed.h"

namespace tandem {
namespace {

template <typename T>
T read(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

// Scale and minimum of group g of a tile for row r, as in packed.h.
struct Group {
  float scale = 0, min = 0;
};

Group read_group(const PackedFormat& format, const std::byte* header, const std::byte* tile, int groups, int g, int r) {
  const bool with_min = format.min == MinKind::explicit_;
  const int at = g * static_cast<int>(kPanelRows) + r, mins = groups * static_cast<int>(kPanelRows);
  Group group;
  if (format.scale == ScaleKind::half) {
    group.scale = half_to_float(read<uint16_t>(tile + 2 * at));
    if (with_min) group.min = half_to_float(read<uint16_t>(tile + 2 * (mins + at)));
  } else {
    group.scale = half_to_float(read<uint16_t>(header + 2 * r)) * static_cast<float>(read<int8_t>(tile + at));
    if (with_min) {
      const float dmin = half_to_float(read<uint16_t>(header + 2 * (kPanelRows + r)));
      group.min = -(dmin * static_cast<float>(read<uint8_t>(tile + mins + at)));
    }
  }
  if (format.min == MinKind::zero_point) group.min = -(static_cast<float>(format.zero_point) * group.scale);
  return group;
}

float read_quant(const PackedFormat& format, const std::byte* quants, int k, int r) {
  if (format.kind == PackedKind::i8) return static_cast<float>(read<int8_t>(quants + k * kPanelRows + r));
  const auto pair = read<uint8_t>(quants + k / 2 * kPanelRows + i4_byte(r));
  return static_cast<float>(k % 2 == 0 ? pair & 15 : pair >> 4);
}

void decode_dense(PackedKind kind, const std::byte* panel, int64_t columns, int r, float* out) {
  for (int64_t k = 0; k < columns; ++k) {
    const int64_t at = k * kPanelRows + r;
    if (kind == PackedKind::f32)
      out[k] = read<float>(panel + 4 * at);
    else if (kind == PackedKind::f16)
      out[k] = half_to_float(read<uint16_t>(panel + 2 * at));
    else
      out[k] = bf16_to_float(read<uint16_t>(panel + 2 * at));
  }
}

}  // namespace

void decode_packed_row(const PackedFormat& format, const std::byte* panels, int64_t columns, int64_t row, float* out) {
  const std::byte* panel = panels + row / kPanelRows * panel_bytes(format, columns);
  const int r = static_cast<int>(row % kPanelRows);
  if (format.dense()) return decode_dense(format.kind, panel, columns, r, out);
  const int groups = static_cast<int>(kTileColumns) / format.group;
  const size_t tile_size = tile_bytes(format), header_size = super_header_bytes(format);
  const size_t quant_size = format.kind == PackedKind::i4 ? 1024 : 2048;
  const std::byte* header = panel;
  for (int64_t k0 = 0; k0 < columns; k0 += kTileColumns) {
    if (header_size > 0 && k0 % kSuperColumns == 0) {
      header = panel;
      panel += header_size;
    }
    for (int k = 0; k < kTileColumns; ++k) {
      const Group group = read_group(format, header, panel, groups, k / format.group, r);
      const float q = read_quant(format, panel + tile_size - quant_size, k, r);
      out[k0 + k] = format.min == MinKind::none ? q * group.scale : std::fma(q, group.scale, group.min);
    }
    panel += tile_size;
  }
}

}  // namespace tandem
