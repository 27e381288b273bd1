#include "packed/loops/matmul.h"

#include <algorithm>
#include <cstring>

namespace tandem {
namespace {

// The most tokens that stream past a tile in one residency. Their sums of a run, their totals and their slice of the
// input (256 B each) take three quarters of a 1 MiB L2.
constexpr int64_t kChunkTokens = 1024;
constexpr int64_t kTileFloats = kResidentColumns * kPanelRows;
constexpr int64_t kFewTokens = 4;  // all loops read the weights of so many tokens directly

void store_rows(const float* sums, int64_t tokens, int64_t rows, float* y, int64_t y_stride) {
  for (int64_t s = 0; s < tokens; ++s)
    std::memcpy(y + s * y_stride, sums + s * kPanelRows, static_cast<size_t>(rows) * sizeof(float));
}

// One panel of a product.
struct Panel {
  const std::byte* weights;
  int64_t bytes, rows;  // the last panel may have fewer rows in use than it computes
  float* y;
};
Panel panel_of(const PackedProduct& product, int64_t panel) {
  const auto bytes = static_cast<int64_t>(panel_bytes(product.format, product.columns));
  const int64_t row = panel * kPanelRows;
  return {product.panels + panel * bytes, bytes, std::min(kPanelRows, product.row_end - row), product.y + row};
}

// Multiplies a chunk of tokens with all tiles of a panel. Its partial sums stay in L2. The last tile's totals go
// straight to y if the panel has all 64 rows.
void gemm(const ExactLoops& loops, const PackedProduct& product, const Panel& panel, int64_t token, int64_t tokens,
          float* scratch) {
  const bool whole = panel.rows == kPanelRows;
  float *tile = scratch, *run_sums = scratch + kTileFloats, *total = run_sums + tokens * kPanelRows;
  float* y = panel.y + token * product.y_stride;
  const float* x = product.x.first + token * product.x.token_stride;
  for (ColumnRun run(product.columns); run.is_valid(); run.next())
    for (int64_t t = run.first_tile(); t < run.end_tile(); ++t) {
      const int64_t first = t * kResidentColumns, last = std::min(first + kResidentColumns, product.columns);
      // The bytes behind this tile are prefetched while it multiplies, because the next tile needs them.
      const ResidentTile resident = {product.format,
                                     panel.weights,
                                     first,
                                     last - first,
                                     product.halves,
                                     panel.weights + panel.bytes * last / product.columns,
                                     static_cast<uint64_t>(panel.bytes * kResidentColumns / product.columns)};
      const bool ends = t + 1 == run.end_tile();
      const PartialSums sums = {run_sums,
                                total,
                                t == run.first_tile(),
                                ends,
                                run.is_first(),
                                whole && ends && run.is_last() ? y : nullptr,
                                product.y_stride};
      loops.multiply_tile(resident, {x + t * product.x.tile_stride, product.x.token_stride, tokens}, sums, tile);
    }
  if (!whole) store_rows(total, tokens, panel.rows, y, product.y_stride);
}

}  // namespace

// Few tokens need no decoded tile, and a host with many threads asks for their scratch in every matmul of a token.
int64_t scratch_floats(int64_t tokens) { return (tokens > kFewTokens ? kTileFloats : 0) + 2 * tokens * kPanelRows; }

// With few tokens weights stream as they are packed (gemv). With many tokens a decoded tile stays in the cache while
// tokens pass it (gemm). Chunks of tokens have about the same size, so that none is small.
void multiply_panels(const PackedLoops& loops, const PackedProduct& product, int64_t first_panel, int64_t last_panel,
                     float* scratch) {
  const int64_t tokens = product.tokens, chunks = (tokens + kChunkTokens - 1) / kChunkTokens;
  for (int64_t p = first_panel; p < last_panel; ++p) {
    const Panel panel = panel_of(product, p);
    if (product.codes) {
      loops.act->multiply_panel({&product.format, panel.weights, tokens, product.columns, static_cast<int>(panel.rows),
                                 product.codes, panel.y, product.y_stride, scratch});
    } else if (tokens <= loops.exact->gemv_tokens(product.format)) {
      loops.exact->gemv_panel(product.format, product.halves, panel.weights, product.columns, product.x.first,
                              product.x.token_stride, tokens, scratch);
      store_rows(scratch, tokens, panel.rows, panel.y, product.y_stride);
    } else {
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const int64_t begin = tokens * chunk / chunks, end = tokens * (chunk + 1) / chunks;
        gemm(*loops.exact, product, panel, begin, end - begin, scratch);
      }
    }
  }
}

}  // namespace tandem
