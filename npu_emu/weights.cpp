#include "npu_emu/weights.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "npu_emu/number_format.h"

namespace tandem::npu_emu {

namespace {

constexpr int64_t kSuperTiles = kSuperColumns / kGroupTile;

struct TileSizes {
  size_t scale_bytes, minimum_bytes, code_bytes, header_bytes;
  size_t tile() const { return scale_bytes + minimum_bytes + code_bytes; }
};

TileSizes tile_sizes(const PanelFormat& format) {
  const bool stored = format.minimum == Minimum::stored;
  const size_t values = static_cast<size_t>(format.groups() * kPanelRows);
  const size_t width = format.scales == Scales::half ? 2 : 1;
  const size_t codes = static_cast<size_t>(kPanelRows * kGroupTile) / (format.element == Element::i4 ? 2 : 1);
  const size_t header = format.scales == Scales::super ? kPanelRows * 2 * (stored ? 2 : 1) : 0;
  return {values * width, stored ? values * width : 0, codes, header};
}

size_t element_bytes(Element element) { return element == Element::f32 ? 4 : 2; }

template <typename T>
T load(const std::byte* base, int64_t index) {
  T value;
  std::memcpy(&value, base + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

float decode_dense(Element element, const std::byte* panel, int64_t index) {
  switch (element) {
    case Element::f16:
      return half_to_float(load<uint16_t>(panel, index));
    case Element::bf16:
      return round_to_half(std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(panel, index)) << 16));
    default:
      return round_to_half(load<float>(panel, index));
  }
}

}  // namespace

const char* misfit(const PanelFormat& format, int64_t columns) {
  if (columns <= 0) return "K must be positive";
  if (format.dense()) {
    return format.element == Element::i4 || format.element == Element::i8 ? "integer codes need scales" : nullptr;
  }
  if (format.element != Element::i4 && format.element != Element::i8) return "only integer codes have scales";
  if (format.group != 16 && format.group != 32) return "a scale is shared by 16 or 32 columns";
  if (columns % kGroupTile != 0) return "K must be a multiple of 32 for grouped scales";
  if (format.scales == Scales::super && columns % kSuperColumns != 0)
    return "K must be a multiple of 256 for super blocks";
  return nullptr;
}

size_t panel_bytes(const PanelFormat& format, int64_t columns) {
  if (format.dense()) return static_cast<size_t>(columns * kPanelRows) * element_bytes(format.element);
  const TileSizes sizes = tile_sizes(format);
  const size_t tiles = static_cast<size_t>(columns / kGroupTile);
  return tiles * sizes.tile() + tiles / kSuperTiles * sizes.header_bytes;
}

TileView tile_view(const PanelFormat& format, const std::byte* panel, int64_t tile) {
  const TileSizes sizes = tile_sizes(format);
  TileView view;
  const std::byte* at = panel + static_cast<size_t>(tile) * sizes.tile();
  if (format.scales == Scales::super) {
    const int64_t block = tile / kSuperTiles;
    at += static_cast<size_t>(block + 1) * sizes.header_bytes;
    const std::byte* header = panel + static_cast<size_t>(block) * (sizes.header_bytes + kSuperTiles * sizes.tile());
    view.scale = reinterpret_cast<const uint16_t*>(header);
    view.minimum = view.scale + kPanelRows;
    view.sub_scale = reinterpret_cast<const int8_t*>(at);
    view.sub_minimum = reinterpret_cast<const uint8_t*>(at + sizes.scale_bytes);
  } else {
    view.scale = reinterpret_cast<const uint16_t*>(at);
    view.minimum = reinterpret_cast<const uint16_t*>(at + sizes.scale_bytes);
  }
  view.codes = reinterpret_cast<const uint8_t*>(at + sizes.scale_bytes + sizes.minimum_bytes);
  return view;
}

float decode_weight(const PanelFormat& format, const std::byte* panel, int64_t column, int64_t row) {
  if (format.dense()) return decode_dense(format.element, panel, column * kPanelRows + row);
  const TileView view = tile_view(format, panel, column / kGroupTile);
  const int64_t k = column % kGroupTile, shared = k / format.group * kPanelRows + row;
  float q = 0;
  if (format.element == Element::i4) {
    const uint8_t pair = view.codes[k / 2 * kPanelRows + i4_byte(row)];
    q = static_cast<float>(k % 2 == 0 ? pair & 15 : pair >> 4);
  } else {
    q = static_cast<float>(static_cast<int8_t>(view.codes[k * kPanelRows + row]));
  }
  const bool super = format.scales == Scales::super;
  const float scale = super ? half_to_float(view.scale[row]) * static_cast<float>(view.sub_scale[shared])
                            : half_to_float(view.scale[shared]);
  switch (format.minimum) {
    case Minimum::none:
      return q * scale;
    case Minimum::zero_point:
      return std::fma(q, scale, -(static_cast<float>(format.zero_point) * scale));
    case Minimum::stored:
      break;
  }
  const float minimum = super ? -(half_to_float(view.minimum[row]) * static_cast<float>(view.sub_minimum[shared]))
                              : half_to_float(view.minimum[shared]);
  return std::fma(q, scale, minimum);
}

}  // namespace tandem::npu_emu
