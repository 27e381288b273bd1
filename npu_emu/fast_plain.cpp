// The fast path's loops for processors without AVX2 or AVX-512. They are the definition itself: std::fma, element
// by element.
#include <algorithm>
#include <cmath>

#include "npu_emu/fast_kernels.h"
#include "npu_emu/number_format.h"

namespace tandem::npu_emu {

namespace {

// Decodes the tile once and streams all tokens past it. Columns rise for each token, and sums enter from the tile
// before, so each is one ascending chain.
void multiply_tile(const ResidentTile& weights, const float* x, int64_t blocks, const TileSums& sums, float* tile) {
  for (int64_t k = 0; k < weights.count; ++k)
    for (int64_t r = 0; r < kPanelRows; ++r)
      tile[k * kPanelRows + r] = cell_weight(weights.format, weights.panel, weights.column + k, r);
  for (int64_t s = 0; s < blocks * kTokenBlock; ++s) {
    const float* token = x + s * kResidentColumns;
    float* acc = sums.acc + s * kPanelRows;
    if (sums.fresh) std::fill_n(acc, kPanelRows, 0.0f);
    for (int64_t k = 0; k < weights.count; ++k) {
      const float a = token[k];
      for (int64_t r = 0; r < kPanelRows; ++r) acc[r] = std::fma(tile[k * kPanelRows + r], a, acc[r]);
    }
    if (s < sums.y_tokens) std::copy_n(acc, kPanelRows, sums.leave(s));
  }
}

// Each weight is decoded once and used for all tokens. Columns rise in the outer loop, so each sum is one
// ascending chain.
void gemv_panel(const PackedFormat& format, const std::byte* panel, int64_t columns, const float* x, int64_t x_stride,
                int64_t tokens, float* acc) {
  for (int64_t i = 0; i < tokens * kPanelRows; ++i) acc[i] = 0;
  for (int64_t k = 0; k < columns; ++k) {
    for (int64_t r = 0; r < kPanelRows; ++r) {
      const float w = cell_weight(format, panel, k, r);
      for (int64_t s = 0; s < tokens; ++s) {
        float& sum = acc[s * kPanelRows + r];
        sum = std::fma(w, x[s * x_stride + k], sum);
      }
    }
  }
}

void round_half(const float* in, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = round_to_half(in[i]);
}

}  // namespace

const FastKernels& plain_kernels() {
  static constexpr FastKernels kKernels = {"plain", multiply_tile, gemv_panel, round_half};
  return kKernels;
}

}  // namespace tandem::npu_emu
