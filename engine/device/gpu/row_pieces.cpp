#include "engine/device/gpu/row_pieces.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {
namespace {

constexpr int64_t kPieceBytes = 16;
constexpr int64_t kMostPanels = 32768;  // of a launch: every device allows so many groups in each dimension
constexpr int64_t kElementsOfWord = 4;  // codes of 8 bits

int64_t element_bytes(PackedKind kind) { return kind == PackedKind::f32 ? 4 : kind == PackedKind::i8 ? 1 : 2; }

// Dense: blocks of whole columns fill a panel. Packed: a tile's codes are one or two blocks behind its scales.
int64_t blocks_of_panel(const PackedFormat& format, int64_t columns) {
  if (format.dense()) return columns * element_bytes(format.kind) / kPieceBytes;
  return columns / kTileColumns * (format.kind == PackedKind::i4 ? 1 : 2);
}

// The block's first byte, counted from the panel's first one.
std::byte* block_at(const PackedFormat& format, std::byte* panel, int64_t block) {
  if (format.dense()) return panel + block * static_cast<int64_t>(kRowBlockBytes);
  const int64_t of_tile = format.kind == PackedKind::i4 ? 1 : 2;
  const TileView tile = tile_view(format, panel, block / of_tile);
  const size_t codes = static_cast<size_t>(reinterpret_cast<const std::byte*>(tile.codes) - panel);
  return panel + codes + static_cast<size_t>(block % of_tile) * kRowBlockBytes;
}

// Returns the place of byte `at` of a row's piece in the block's panel order.
size_t source_of(PackedKind kind, int64_t row, int64_t at) {
  if (kind == PackedKind::i4) return static_cast<size_t>(at * kPanelRows + i4_byte(row));
  if (kind == PackedKind::i8) {
    const int64_t word = at / kElementsOfWord, column = word / 2 * 8 + at % kElementsOfWord * 2 + word % 2;
    return static_cast<size_t>(column * kPanelRows + row);
  }
  const int64_t bytes = element_bytes(kind);
  return static_cast<size_t>((at / bytes * kPanelRows + row) * bytes + at % bytes);
}

}  // namespace

bool fits_row_pieces(const PackedFormat& format, int64_t columns) { return !format.dense() || columns % 8 == 0; }

bool in_row_pieces(const PackedMatrix& matrix, const LoweringContext& context) {
  return context.family == KernelFamily::simt && context.has_row_pieces && context.has_row_pieces(matrix.data.slot) &&
         fits_row_pieces(matrix.format, matrix.columns);
}

std::vector<PanelRange> row_piece_ranges(const Operator& op, const LoweringContext& context) {
  std::vector<PanelRange> ranges;
  // `panels`: from the matrix's first one on.
  const auto add = [&](const PackedMatrix& matrix, int64_t panels) {
    if (!matrix.data || !in_row_pieces(matrix, context)) return;
    const size_t bytes = panel_bytes(matrix.format, matrix.columns);
    const auto object = [&op] { return op.name; };
    const int64_t most =
        std::min(kMostPanels, pieces_within_reach(static_cast<int64_t>(bytes), context, "a panel of 64 rows", object));
    for (int64_t panel = 0; panel < panels; panel += most)
      ranges.push_back({matrix.format, matrix.columns, matrix.data.advanced(static_cast<size_t>(panel) * bytes),
                        std::min(most, panels - panel)});
  };
  if (const auto* product = std::get_if<MatMul>(&op.body)) add(product->w, panel_count(product->w.rows));
  if (const auto* lookup = std::get_if<Embed>(&op.body)) add(lookup->w, panel_count(lookup->w.rows));
  if (const auto* grouped = std::get_if<GroupedMatMul>(&op.body)) {
    const PackedStack& stack = grouped->w;
    const int64_t panels = panel_count(stack.rows);
    const bool side_by_side = stack.matrix_bytes() == packed_bytes(stack.format, stack.rows, stack.columns);
    if (side_by_side) add(stack.matrix(0), stack.count * panels);
    for (int64_t i = 0; i < stack.count && !side_by_side; ++i) add(stack.matrix(i), panels);
  }
  return ranges;
}

KernelLaunch rearrange(const PanelRange& range) {
  KernelLaunch launch;
  launch.source = launch.kernel = "row_pieces";
  launch.options = define("KIND", static_cast<int>(range.format.kind));
  PackedFormat format = range.format;
  format.book = CodeBook::none;  // codes are moved, whatever their numbers are
  if (!format.dense()) launch.options.append(" ").append(packed_options(format));
  launch.args = {BufferArg{range.at, true}, uint64_t{range.panel_bytes()}};
  launch.local = {kWorkGroup, 1, 1};
  launch.global = {static_cast<size_t>(blocks_of_panel(range.format, range.columns)) * kWorkGroup,
                   static_cast<size_t>(range.panels), 1};
  return launch;
}

void rearrange(const PackedFormat& format, int64_t columns, int64_t panels, std::byte* bytes) {
  for (int64_t panel = 0; panel < panels; ++panel) {
    for (int64_t block = 0; block < blocks_of_panel(format, columns); ++block) {
      std::byte* to = block_at(format, bytes + static_cast<size_t>(panel) * panel_bytes(format, columns), block);
      std::array<std::byte, kRowBlockBytes> from;
      std::memcpy(from.data(), to, from.size());
      for (int64_t i = 0; i < static_cast<int64_t>(kRowBlockBytes); ++i)
        to[i] = from[source_of(format.kind, i / kPieceBytes, i % kPieceBytes)];
    }
  }
}

// Every part that overlaps or touches the new one becomes a piece of it. The gaps between them are what was missing.
std::vector<RearrangedBytes::Part> RearrangedBytes::add(size_t begin, size_t end) {
  std::vector<Part> missing;
  auto next = parts_.upper_bound(begin);
  if (next != parts_.begin() && std::prev(next)->second >= begin) --next;
  size_t known = begin, first = begin, last = end;
  while (next != parts_.end() && next->first <= end) {
    if (next->first > known) missing.push_back({known, next->first});
    known = std::max(known, next->second);
    first = std::min(first, next->first);
    last = std::max(last, next->second);
    next = parts_.erase(next);
  }
  if (known < end) missing.push_back({known, end});
  parts_[first] = last;
  return missing;
}

}  // namespace tandem::gpu
