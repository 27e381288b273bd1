#include "packed/format.h"

#include "packed/tiles.h"
#include "sync/error.h"

namespace tandem {

namespace {

constexpr int64_t kSuperTiles = kSuperColumns / kTileColumns;

struct TileSizes {
  size_t scale_bytes, minimum_bytes, code_bytes, header_bytes;
  size_t tile() const { return scale_bytes + minimum_bytes + code_bytes; }
};

// Bytes of the parts of one tile, and of the header that a super block has in front of its tiles. With such a header, a
// tile's scales are integers of one byte.
TileSizes tile_sizes(const PackedFormat& format) {
  const bool stored = format.min == MinKind::explicit_;
  const size_t values = static_cast<size_t>(format.groups() * kPanelRows);
  const size_t width = format.scale == ScaleKind::half ? 2 : 1;
  const size_t codes = static_cast<size_t>(kPanelRows * kTileColumns) / (format.kind == PackedKind::i4 ? 2 : 1);
  const size_t header = format.super_blocks() ? kPanelRows * 2 * (stored ? 2 : 1) : 0;
  return {values * width, stored ? values * width : 0, codes, header};
}

bool has_codes(const PackedFormat& format) { return format.kind == PackedKind::i4 || format.kind == PackedKind::i8; }

size_t element_bytes(PackedKind kind) { return kind == PackedKind::f32 ? 4 : 2; }

}  // namespace

// The text has every field that distinguishes two formats, because kernels are built once for each text.
std::string to_string(const PackedFormat& format) {
  static constexpr const char* kKinds[] = {"f32", "f16", "bf16", "i4", "i8"};
  std::string text = kKinds[static_cast<int>(format.kind)];
  if (format.dense()) return text;
  text += ".g" + std::to_string(format.group);
  text += format.scale == ScaleKind::half ? ".half" : format.scale == ScaleKind::super ? ".super" : ".eighths";
  if (format.min == MinKind::explicit_) text += ".min";
  if (format.min == MinKind::zero_point) text += ".zero" + std::to_string(format.zero_point);
  if (format.book != CodeBook::none) text += format.book == CodeBook::e2m1 ? ".e2m1" : ".iq4";
  return text;
}

// The order matters: group and row length have a meaning only for codes that have scales.
const char* misfit(const PackedFormat& format, int64_t columns) {
  if (columns <= 0) return "K must be positive";
  if (format.dense()) return has_codes(format) ? "integer codes need scales" : nullptr;
  if (!has_codes(format)) return "only integer codes have scales";
  if (format.book != CodeBook::none && (format.kind != PackedKind::i4 || format.min != MinKind::none))
    return "a code book has 4-bit codes and no minimum";
  if (format.group != 16 && format.group != 32) return "a scale is shared by 16 or 32 columns";
  if (columns % kTileColumns != 0) return "K must be a multiple of 32 for grouped scales";
  if (format.super_blocks() && columns % kSuperColumns != 0) return "K must be a multiple of 256 for super blocks";
  return nullptr;
}

size_t tile_bytes(const PackedFormat& format) { return format.dense() ? 0 : tile_sizes(format).tile(); }

size_t super_header_bytes(const PackedFormat& format) { return format.dense() ? 0 : tile_sizes(format).header_bytes; }

size_t panel_bytes(const PackedFormat& format, int64_t columns) {
  if (const char* reason = misfit(format, columns))
    throw Error("the row length does not fit the packed format",
                std::to_string(columns) + " columns in format " + to_string(format), reason);
  if (format.dense()) return static_cast<size_t>(columns * kPanelRows) * element_bytes(format.kind);
  // misfit() has checked that a row consists of whole tiles, and of whole super blocks if there are any.
  const TileSizes sizes = tile_sizes(format);
  const size_t tiles = static_cast<size_t>(columns / kTileColumns);
  return tiles * sizes.tile() + tiles / kSuperTiles * sizes.header_bytes;
}

size_t packed_bytes(const PackedFormat& format, int64_t rows, int64_t columns) {
  return static_cast<size_t>(panel_count(rows)) * panel_bytes(format, columns);
}

// A tile is the scales of its columns, their minima if the format has any, and its codes. A super block puts a header
// in front of every kSuperTiles tiles. It holds the scales that the tiles' own scales are multiples of, and it shifts
// all tiles behind it.
TilesOfPanel::TilesOfPanel(const PackedFormat& format, const std::byte* panel) : panel_(panel) {
  const TileSizes sizes = tile_sizes(format);
  scale_bytes_ = static_cast<int64_t>(sizes.scale_bytes);
  codes_at_ = static_cast<int64_t>(sizes.scale_bytes + sizes.minimum_bytes);
  tile_bytes_ = static_cast<int64_t>(sizes.tile());
  header_bytes_ = static_cast<int64_t>(sizes.header_bytes);
  super_bytes_ = header_bytes_ + kSuperTiles * tile_bytes_;
}

TileView tile_view(const PackedFormat& format, const std::byte* panel, int64_t tile) {
  return TilesOfPanel(format, panel).at(tile);
}

}  // namespace tandem
