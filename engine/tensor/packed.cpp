#include "engine/tensor/packed.h"

#include "sync/error.h"

namespace tandem {
namespace {

size_t element_bytes(PackedKind kind) { return kind == PackedKind::f32 ? 4 : 2; }

}  // namespace

std::string to_string(const PackedFormat& format) {
  static constexpr const char* kKinds[] = {"f32", "f16", "bf16", "i4", "i8"};
  std::string text = kKinds[static_cast<int>(format.kind)];
  if (format.dense()) return text;
  text += ".g" + std::to_string(format.group);
  text += format.scale == ScaleKind::half ? ".half" : ".super";
  if (format.min == MinKind::explicit_) text += ".min";
  if (format.min == MinKind::zero_point) text += ".zero" + std::to_string(format.zero_point);
  return text;
}

PackedFormat packed_format(StorageType type) {
  using enum StorageType;
  constexpr auto half = ScaleKind::half, super = ScaleKind::super;
  switch (type) {
    case f32:
      return {PackedKind::f32};
    case f16:
      return {PackedKind::f16};
    case bf16:
      return {PackedKind::bf16};
    case q4_0:
      return {PackedKind::i4, half, MinKind::zero_point, 32, 8};
    case q4_1:
      return {PackedKind::i4, half, MinKind::explicit_, 32, 0};
    case q4_k:
      return {PackedKind::i4, super, MinKind::explicit_, 32, 0};
    case q2_k:
      return {PackedKind::i4, super, MinKind::explicit_, 16, 0};
    case q3_k:
      return {PackedKind::i4, super, MinKind::zero_point, 16, 4};
    case q8_0:
    case q5_0:
    case iq4_nl:
      return {PackedKind::i8, half, MinKind::none, 32, 0};
    case q5_1:
      return {PackedKind::i8, half, MinKind::explicit_, 32, 0};
    case q5_k:
      return {PackedKind::i8, super, MinKind::explicit_, 32, 0};
    case q6_k:
      return {PackedKind::i8, super, MinKind::none, 16, 0};
    case iq4_xs:
      return {PackedKind::i8, super, MinKind::none, 32, 0};
  }
  throw Error("unknown storage type", "type number " + std::to_string(static_cast<uint32_t>(type)));
}

size_t tile_bytes(const PackedFormat& format) {
  if (format.dense()) return 0;
  const size_t groups = static_cast<size_t>(kTileColumns) / format.group;
  const size_t number = format.scale == ScaleKind::half ? 2 : 1;  // bytes of one scale or minimum
  const size_t arrays = format.min == MinKind::explicit_ ? 2 : 1;
  const size_t quants = format.kind == PackedKind::i4 ? 1024 : 2048;
  return arrays * number * groups * kPanelRows + quants;
}

size_t super_header_bytes(const PackedFormat& format) {
  if (format.scale != ScaleKind::super) return 0;
  return (format.min == MinKind::explicit_ ? 2 : 1) * sizeof(uint16_t) * kPanelRows;
}

size_t panel_bytes(const PackedFormat& format, int64_t columns) {
  if (format.dense()) {
    if (columns <= 0) throw Error("a packed matrix has no columns", to_string(format));
    return static_cast<size_t>(columns * kPanelRows) * element_bytes(format.kind);
  }
  const int64_t unit = format.scale == ScaleKind::super ? kSuperColumns : kTileColumns;
  if (columns <= 0 || columns % unit != 0)
    throw Error("the row length does not fit the packed format",
                std::to_string(columns) + " columns in format " + to_string(format),
                "it must be a multiple of " + std::to_string(unit));
  const auto tiles = static_cast<size_t>(columns / kTileColumns);
  return tiles * tile_bytes(format) + static_cast<size_t>(columns / unit) * super_header_bytes(format);
}

size_t packed_bytes(const PackedFormat& format, int64_t rows, int64_t columns) {
  return static_cast<size_t>(panel_count(rows)) * panel_bytes(format, columns);
}

}  // namespace tandem
