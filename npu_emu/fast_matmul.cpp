#include "npu_emu/fast_matmul.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace tandem::npu_emu {

namespace {

// Tokens that stream past a tile in one residency. Their partial sums (256 B each) and their slice of the input (256 B
// each) take half of a 1 MiB L2.
constexpr int64_t kChunkTokens = 1024;

int64_t blocks_of(int64_t tokens) { return (tokens + kTokenBlock - 1) / kTokenBlock; }
int64_t tiles_of(int64_t columns) { return (columns + kResidentColumns - 1) / kResidentColumns; }

void store_rows(const float* sums, int64_t tokens, int64_t rows, float* y, int64_t y_stride) {
  for (int64_t s = 0; s < tokens; ++s)
    std::memcpy(y + s * y_stride, sums + s * kPanelRows, static_cast<size_t>(rows) * sizeof(float));
}

}  // namespace

void AlignedFloats::Free::operator()(float* data) const { std::free(data); }

// Grows and never shrinks. The old content is lost when it grows. aligned_alloc() wants whole multiples of
// the alignment.
float* AlignedFloats::reserve(int64_t count) {
  if (count > capacity_) {
    const size_t bytes = (static_cast<size_t>(count) * sizeof(float) + 63) / 64 * 64;
    data_.reset(static_cast<float*>(std::aligned_alloc(64, bytes)));
    if (!data_) throw std::bad_alloc();
    capacity_ = count;
  }
  return data_.get();
}

FastMatmul::FastMatmul(const FastKernels& kernels)
    : kernels_(&kernels), act_(&kernels == &best_kernels() ? &best_act_loops() : &plain_act_loops()) {}

// Layout of activations: few tokens are dense rows [S][K]. Many tokens are [K/64][S/8][8][64], so that the slice of one
// tile is contiguous. Token rows past S are zero; no result depends on columns past K. With act_i8 the layout is
// [S][K/32] blocks of codes.
void FastMatmul::prepare_activations(const MatmulCall& call, AlignedFloats& activations) const {
  const int64_t S = call.tokens, K = call.columns;
  if (call.act_i8) {
    const int64_t groups = K / kActGroup;
    auto* codes = reinterpret_cast<ActBlock*>(
        activations.reserve(S * groups * static_cast<int64_t>(sizeof(ActBlock) / sizeof(float))));
    for (int64_t s = 0; s < S; ++s) act_->quantise(call.x + s * call.x_stride, K, codes + s * groups);
    return;
  }
  if (S <= kGemvTokens) {
    float* out = activations.reserve(S * K);
    for (int64_t s = 0; s < S; ++s) kernels_->round_half(call.x + s * call.x_stride, out + s * K, K);
    return;
  }
  const int64_t rows = blocks_of(S) * kTokenBlock, tiles = tiles_of(K);
  float* out = activations.reserve(tiles * rows * kResidentColumns);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t first = tile * kResidentColumns, count = std::min(kResidentColumns, K - first);
    for (int64_t s = 0; s < rows; ++s, out += kResidentColumns) {
      if (s < S) {
        kernels_->round_half(call.x + s * call.x_stride + first, out, count);
      } else {
        std::fill_n(out, count, 0.0f);
      }
    }
  }
}

// Parts are whole panels, so no two threads write the same output and no sum is divided. Few tokens are bound by
// reading weights, which stream as they are packed (gemv). With many tokens a decoded tile stays in the cache while
// tokens pass it (gemm).
void FastMatmul::multiply(const MatmulCall& call, const AlignedFloats& activations, AlignedFloats& sums, int part,
                          int parts) const {
  const int64_t begin = call.row_begin / kPanelRows, panels = panel_count(call.row_end) - begin;
  const int64_t first = begin + panels * part / parts, last = begin + panels * (part + 1) / parts;
  if (first == last) return;
  if (call.act_i8) {
    integers(call, activations.data(), sums, first, last);
  } else if (call.tokens <= kGemvTokens) {
    gemv(call, activations.data(), sums, first, last);
  } else {
    gemm(call, activations.data(), sums, first, last);
  }
}

// A panel's weights are read once for all tokens. The last panel may have fewer rows in use than it computes.
void FastMatmul::gemv(const MatmulCall& call, const float* x, AlignedFloats& sums, int64_t first_panel,
                      int64_t last_panel) const {
  const size_t bytes = panel_bytes(call.format, call.columns);
  float* acc = sums.reserve(kGemvTokens * kPanelRows);
  for (int64_t panel = first_panel; panel < last_panel; ++panel) {
    const int64_t row = panel * kPanelRows;
    kernels_->gemv_panel(call.format, call.panels + static_cast<size_t>(panel) * bytes, call.columns, x, call.columns,
                         call.tokens, acc);
    store_rows(acc, call.tokens, std::min(kPanelRows, call.row_end - row), call.y + row, call.y_stride);
  }
}

// Goes through the panels, each in chunks of tokens. A chunk passes all tiles of the panel before the next chunk
// begins, so its partial sums stay in L2. The last tile's sums go straight to y if the panel has all 64 rows.
void FastMatmul::gemm(const MatmulCall& call, const float* x, AlignedFloats& sums, int64_t first_panel,
                      int64_t last_panel) const {
  const auto bytes = static_cast<int64_t>(panel_bytes(call.format, call.columns));
  const int64_t blocks = blocks_of(call.tokens), tiles = tiles_of(call.columns);
  const int64_t chunk_blocks = kChunkTokens / kTokenBlock;
  float* tile = sums.reserve(kResidentColumns * kPanelRows + std::min(blocks, chunk_blocks) * kTokenBlock * kPanelRows);
  float* acc = tile + kResidentColumns * kPanelRows;
  for (int64_t panel = first_panel; panel < last_panel; ++panel) {
    const std::byte* weights = call.panels + panel * bytes;
    const int64_t row = panel * kPanelRows, rows = std::min(kPanelRows, call.row_end - row);
    for (int64_t block = 0; block < blocks; block += chunk_blocks) {
      const int64_t count = std::min(chunk_blocks, blocks - block), token = block * kTokenBlock;
      const int64_t tokens = std::min(count * kTokenBlock, call.tokens - token);
      float* y = call.y + token * call.y_stride + row;
      const bool whole = rows == kPanelRows;  // then the last tile's sums leave to y
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t first = t * kResidentColumns, last = std::min(first + kResidentColumns, call.columns);
        // The bytes behind this tile are prefetched while it multiplies, because the next tile needs them.
        const ResidentTile resident = {call.format,
                                       weights,
                                       first,
                                       last - first,
                                       weights + bytes * last / call.columns,
                                       static_cast<uint64_t>(bytes * kResidentColumns / call.columns)};
        const TileSums partial = {acc, t == 0, y, call.y_stride, whole && t + 1 == tiles ? tokens : 0};
        kernels_->multiply_tile(resident, x + (t * blocks + block) * kResidentColumns * kTokenBlock, count, partial,
                                tile);
      }
      if (!whole) store_rows(acc, tokens, rows, y, call.y_stride);
    }
  }
}

// Codes of 8 bits against the weights' integers, panel by panel, in the integer loops that the host uses too.
void FastMatmul::integers(const MatmulCall& call, const float* x, AlignedFloats& sums, int64_t first_panel,
                          int64_t last_panel) const {
  const size_t bytes = panel_bytes(call.format, call.columns);
  float* acc = sums.reserve(call.tokens * kPanelRows);
  for (int64_t panel = first_panel; panel < last_panel; ++panel) {
    const int64_t row = panel * kPanelRows;
    act_->multiply_panel({&call.format, call.panels + static_cast<size_t>(panel) * bytes, call.tokens, call.columns,
                          static_cast<int>(std::min(kPanelRows, call.row_end - row)),
                          reinterpret_cast<const ActBlock*>(x), call.y + row, call.y_stride, acc});
  }
}

void fast_matmul(const MatmulCall& call, const FastKernels& kernels) {
  const FastMatmul matmul(kernels);
  AlignedFloats activations, sums;
  matmul.prepare_activations(call, activations);
  matmul.multiply(call, activations, sums, 0, 1);
}

}  // namespace tandem::npu_emu
