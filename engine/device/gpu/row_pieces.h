// Weights in pieces of rows: the layout in which a graphics card keeps packed weights in its own memory.
//
// A card loads 16 bytes for each work-item at once. In packed panels (packed/format.h) neighbouring bytes belong to
// neighbouring rows, which suits the vectors of a processor. In pieces of rows, 16 neighbouring bytes belong to
// one row, and those of the next row follow.
//
// Layout: only codes and dense elements move, within blocks of 1,024 bytes. A block keeps its place and its content: 64
//   rows of so many columns, in pieces of 16 bytes, row after row.
//     i4        32 columns; byte j of a piece has column 2 j in the low and 2 j + 1 in the high nibble.
//     i8        16 columns; word 2 m + h of a piece has columns 8 m + h, + 2, + 4 and + 6 (the order of ActBlock).
//     f16 bf16  8 columns, ascending.
//     f32       4 columns, ascending.
//   Scales, minima and headers stay where they are. So do panels, rows cut at multiples of 64, and matrices of a stack.
// Contract: pure functions and plain values. The device rearranges each panel once, behind its upload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/device/gpu/lower.h"
#include "engine/device/operator.h"
#include "packed/format.h"

namespace tandem::gpu {

inline constexpr size_t kRowBlockBytes = 1024;

// Whether a weight of so many columns has this layout: dense rows must consist of whole blocks of 8 columns.
bool fits_row_pieces(const PackedFormat& format, int64_t columns);

// Whether kernels read this matrix in pieces of rows: simt kernels on a device that says so of its slot.
bool in_row_pieces(const PackedMatrix& matrix, const LoweringContext& context);

// Panels that lie side by side, all of one format and of so many columns.
struct PanelRange {
  PackedFormat format;
  int64_t columns = 0;
  Operand at;  // the first panel
  int64_t panels = 0;

  size_t panel_bytes() const { return tandem::panel_bytes(format, columns); }
  size_t begin() const { return at.offset_bytes; }
  size_t end() const { return begin() + static_cast<size_t>(panels) * panel_bytes(); }
};

// The weights of an operator that its kernels read in pieces of rows. A stack whose matrices do not lie side by side is
// a range for each matrix.
std::vector<PanelRange> row_piece_ranges(const Operator& op, const LoweringContext& context);

// The launch that rearranges a range in place (kernels/row_pieces.cl, shaders/row_pieces.comp).
//   First argument: the range's operand. Dimension 0 of the grid: 64 work-items for each block of a panel. Dimension 1:
//   panels.
KernelLaunch rearrange(const PanelRange& range);

// The same on the host, on the bytes of the panels: what the kernel must do.
void rearrange(const PackedFormat& format, int64_t columns, int64_t panels, std::byte* bytes);

// The bytes of a slot that are in pieces of rows. Threads: one at a time.
class RearrangedBytes {
 public:
  struct Part {
    size_t begin = 0, end = 0;
  };
  // Adds [begin, end), and returns the parts of it that were not there, ascending.
  std::vector<Part> add(size_t begin, size_t end);
  void clear() { parts_.clear(); }

 private:
  std::map<size_t, size_t> parts_;  // end by begin; disjoint, and with gaps between them
};

}  // namespace tandem::gpu
