#include "engine/tensor/packed.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "engine/tensor/transpose.h"
#include "engine/tensor/unpack.h"
#include "sync/error.h"

// Panels are filled tile by tile: the rows of a tile are split into one small buffer and transposed. If only some rows
// of a panel are packed, their columns are copied one by one, so that the other rows stay untouched.
namespace tandem {
namespace {

static_assert(std::endian::native == std::endian::little, "blocks and panels are little-endian");

// The rows of one panel that are packed now. Source rows lie `stride` bytes apart and become rows [first,
// first + count).
struct Rows {
  const uint8_t* source;
  size_t stride;
  int first, count;
};

// The split blocks of one block column, for all rows of a panel.
struct alignas(64) Integers {
  uint8_t q[kPanelRows][kSuperColumns];
  uint16_t scale[kPanelRows], min[kPanelRows], halves[4][kPanelRows];
  int8_t scales[16][kPanelRows];
  uint8_t mins[16][kPanelRows];
};

// Writes the codes of one tile: columns [column, column + 32) of every row in `from`.
void write_quants(const PackedFormat& format, const Integers& from, int column, const Rows& rows, uint8_t* quants) {
  const bool nibbles = format.kind == PackedKind::i4;
  const int lines = nibbles ? 16 : 32;  // of 64 bytes
  alignas(64) uint8_t all[32 * kPanelRows];
  // A whole panel is written in place. Otherwise only the packed rows are copied from a full tile.
  uint8_t* const line = rows.count == kPanelRows ? quants : all;
  if (nibbles)
    write_i4_lines([&](int r) { return pair_codes(from.q[r] + column); }, line);
  else
    write_i8_lines([&](int r) { return from.q[r] + column; }, line);
  if (line == quants) return;
  for (int i = 0; i < lines; ++i) {
    for (int r = rows.first; r < rows.first + rows.count; ++r) {
      const int at = i * kPanelRows + (nibbles ? i4_byte(r) : r);
      quants[at] = line[at];
    }
  }
}

// Writes one value for each row, and moves on to the next line of the panel.
template <typename T>
void write_line(const T* line, const Rows& rows, uint8_t*& to) {
  std::memcpy(to + rows.first * sizeof(T), line + rows.first, rows.count * sizeof(T));
  to += kPanelRows * sizeof(T);
}

// Packs any block type: splits one block of every row, then writes the block's tiles. Scales of super blocks come once
// before their tiles, other scales with each tile.
void pack_blocks(StorageType type, const PackedFormat& format, int64_t columns, const Rows& rows, uint8_t* panel) {
  const StorageTypeInfo& block = info(type);
  const blocks::Unpacker unpack = blocks::unpacker(type);
  const bool with_min = format.min == MinKind::explicit_;
  const int block_columns = static_cast<int>(block.block_values), groups = kTileColumns / format.group;
  // Rows that are not packed now stay zero here and are not written to the panel.
  Integers integers{};
  for (int64_t b = 0; b < columns / block_columns; ++b) {
    for (int i = 0; i < rows.count; ++i) {
      const int r = rows.first + i;
      blocks::Unpacked to;
      to.q = integers.q[r];
      unpack(rows.source + i * rows.stride + b * block.block_bytes, to);
      integers.scale[r] = to.scale;
      integers.min[r] = to.min;
      if (groups == 2 && format.scale == ScaleKind::half)
        for (int g = 0; g < block_columns / format.group; ++g) integers.halves[g][r] = to.halves[g];
      if (format.super_blocks())
        for (int g = 0; g < block_columns / format.group; ++g) {
          integers.scales[g][r] = to.scales[g];
          integers.mins[g][r] = to.mins[g];
        }
    }
    if (format.super_blocks()) {
      write_line(integers.scale, rows, panel);
      if (with_min) write_line(integers.min, rows, panel);
    }
    // A super block has several tiles.
    for (int tile = 0; tile < block_columns / kTileColumns; ++tile) {
      if (format.scale == ScaleKind::half && groups == 2) {
        for (int g = 0; g < groups; ++g) write_line(integers.halves[tile * groups + g], rows, panel);
      } else if (format.scale == ScaleKind::half) {
        write_line(integers.scale, rows, panel);
        if (with_min) write_line(integers.min, rows, panel);
      } else {
        for (int g = 0; g < groups; ++g) write_line(integers.scales[tile * groups + g], rows, panel);
        for (int g = 0; g < groups && with_min; ++g) write_line(integers.mins[tile * groups + g], rows, panel);
      }
      write_quants(format, integers, tile * kTileColumns, rows, panel);
      panel += format.kind == PackedKind::i4 ? 1024 : 2048;
    }
  }
}

// Whole panels of types whose blocks hold the packed codes as they are, or nibbles. No block is split first.
template <int kScales, bool kNibbles>
void pack_plain_blocks(int64_t columns, const Rows& rows, uint8_t* panel) {
  constexpr size_t kHeader = kScales * sizeof(uint16_t), kBlock = kHeader + (kNibbles ? 16 : 32);
  for (int64_t b = 0; b < columns / kTileColumns; ++b) {
    const uint8_t* first = rows.source + static_cast<size_t>(b) * kBlock;
    uint16_t scales[kScales][kPanelRows];
    for (int r = 0; r < kPanelRows; ++r) {
      uint16_t header[kScales];
      std::memcpy(header, first + r * rows.stride, kHeader);
      for (int i = 0; i < kScales; ++i) scales[i][r] = header[i];
    }
    // A tile has the scales of all rows first, then their minima.
    std::memcpy(panel, scales, sizeof scales);
    panel += sizeof scales;
    const auto codes = [&](int r) { return first + r * rows.stride + kHeader; };
    if constexpr (kNibbles)
      write_i4_lines([&](int r) { return pair_file_nibbles(load_bytes16(codes(r))); }, panel);
    else
      write_i8_lines(codes, panel);
    panel += (kNibbles ? 16 : 32) * kPanelRows;
  }
}

using PanelPacker = void (*)(int64_t columns, const Rows& rows, uint8_t* panel);

// A packer for whole panels; nullptr: only pack_blocks() can do it.
PanelPacker whole_panel_packer(StorageType type) {
  switch (type) {
    case StorageType::q4_0:
      return pack_plain_blocks<1, true>;
    case StorageType::q4_1:
      return pack_plain_blocks<2, true>;
    case StorageType::iq4_nl:
      return pack_plain_blocks<1, true>;
    case StorageType::q8_0:
      return pack_plain_blocks<1, false>;
    default:
      return nullptr;
  }
}

// Transposes values in blocks of one cache line of every row.
template <typename T>
void pack_dense(int64_t columns, const Rows& rows, uint8_t* panel) {
  T* out = reinterpret_cast<T*>(panel);
  constexpr int64_t kColumnsAtOnce = 64 / sizeof(T);  // one cache line of every row
  for (int64_t k0 = 0; k0 < columns; k0 += kColumnsAtOnce) {
    const int64_t count = std::min(kColumnsAtOnce, columns - k0);
    T in[kPanelRows][kColumnsAtOnce] = {};
    for (int i = 0; i < rows.count; ++i)
      std::memcpy(in[i], rows.source + i * rows.stride + k0 * sizeof(T), count * sizeof(T));
    for (int64_t k = 0; k < count; ++k)
      for (int i = 0; i < rows.count; ++i) out[(k0 + k) * kPanelRows + rows.first + i] = in[i][k];
  }
}

}  // namespace

// Fields: kind, kind of scale, kind of minimum, columns of a group, zero point, code book.
PackedFormat packed_format(StorageType type) {
  using enum StorageType;
  constexpr auto half = ScaleKind::half, super = ScaleKind::super, eighths = ScaleKind::eighths;
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
    // Codes of 2 and 3 bits are widened to 4, because the packed kinds have 4 or 8 bits.
    case q2_k:
      return {PackedKind::i4, super, MinKind::explicit_, 16, 0};
    case q3_k:
      return {PackedKind::i4, super, MinKind::zero_point, 16, 4};
    // Codes of 8 bits are signed, so they need no zero point.
    case q8_0:
    case q5_0:
      return {PackedKind::i8, half, MinKind::none, 32, 0};
    case q5_1:
      return {PackedKind::i8, half, MinKind::explicit_, 32, 0};
    case q5_k:
      return {PackedKind::i8, super, MinKind::explicit_, 32, 0};
    case q6_k:
      return {PackedKind::i8, super, MinKind::none, 16, 0};
    case iq3_s:
      return {PackedKind::i8, super, MinKind::none, 32, 0};
    // Codes of 4 bits with a code book.
    case mxfp4:
      return {PackedKind::i4, half, MinKind::none, 32, 0, CodeBook::e2m1};
    case nvfp4:
      return {PackedKind::i4, half, MinKind::none, 16, 0, CodeBook::e2m1};
    case iq4_nl:
      return {PackedKind::i4, half, MinKind::none, 32, 0, CodeBook::iq4};
    case iq4_xs:
      return {PackedKind::i4, super, MinKind::none, 32, 0, CodeBook::iq4};
    // The values of the lattices, with their signs.
    case iq3_xxs:
    case iq2_xxs:
    case iq1_s:
      return {PackedKind::i8, eighths, MinKind::none, 32, 0};
    case iq2_xs:
    case iq2_s:
    case iq1_m:
      return {PackedKind::i8, eighths, MinKind::none, 16, 0};
    case tq1_0:
    case tq2_0:
    case q1_0:
    case q2_0:
      return {PackedKind::i4, half, MinKind::zero_point, 32, 1};
  }
  throw Error("unknown storage type", "type number " + std::to_string(static_cast<uint32_t>(type)));
}

// Goes panel by panel. A whole panel takes the shorter way if its type has one.
void pack_rows(StorageType type, const void* source, int64_t columns, int64_t row_begin, int64_t row_count,
               std::byte* panels) {
  const PackedFormat format = packed_format(type);
  const size_t stride = row_bytes(type, columns), panel_size = panel_bytes(format, columns);
  TANDEM_CHECK(row_begin >= 0 && row_count >= 0, "pack_rows");
  const auto* bytes = static_cast<const uint8_t*>(source);
  const PanelPacker pack_whole = whole_panel_packer(type);
  for (int64_t row = row_begin, end = row_begin + row_count; row < end;) {
    // The rows up to the next panel's begin.
    const int64_t next = std::min(end, (row / kPanelRows + 1) * kPanelRows);
    const Rows rows{bytes + (row - row_begin) * stride, stride, static_cast<int>(row % kPanelRows),
                    static_cast<int>(next - row)};
    auto* panel = reinterpret_cast<uint8_t*>(panels) + row / kPanelRows * panel_size;
    if (pack_whole && rows.count == kPanelRows)
      pack_whole(columns, rows, panel);
    else if (!format.dense())
      pack_blocks(type, format, columns, rows, panel);
    else if (type == StorageType::f32)
      pack_dense<uint32_t>(columns, rows, panel);
    else
      pack_dense<uint16_t>(columns, rows, panel);
    row = next;
  }
}

}  // namespace tandem
