// The exact loops for processors without AVX2 or AVX-512. They are the definition itself: std::fma, element by element.
#include <algorithm>
#include <cmath>

#include "packed/decode.h"
#include "packed/half.h"
#include "packed/loops/exact_loops.h"
#include "packed/runs.h"

namespace tandem {
namespace {

float weight(const PackedFormat& format, bool halves, const std::byte* panel, int64_t column, int64_t row) {
  const float value = decode_weight(format, panel, column, row);
  return halves && format.dense() ? round_to_half(value) : value;
}

// Adds the sums of a run that has ended to the totals, or to y.
void end_run(const PartialSums& sums, int64_t token) {
  const float *run = sums.run + token * kPanelRows, *total = sums.total + token * kPanelRows;
  float* to = sums.leave(token);
  for (int64_t r = 0; r < kPanelRows; ++r) to[r] = (sums.first_run ? 0.0f : total[r]) + run[r];
}

// Decodes the tile once and streams all tokens past it. Columns rise for each token, and a run's sums enter from the
// tile before, so each is one ascending chain.
void multiply_tile(const ResidentTile& weights, const TileInput& input, const PartialSums& sums, float* tile) {
  for (int64_t k = 0; k < weights.count; ++k)
    for (int64_t r = 0; r < kPanelRows; ++r)
      tile[k * kPanelRows + r] = weight(weights.format, weights.halves, weights.panel, weights.column + k, r);
  for (int64_t s = 0; s < input.tokens; ++s) {
    const float* token = input.x + s * input.stride;
    float* run = sums.run + s * kPanelRows;
    if (sums.begins_run) std::fill_n(run, kPanelRows, 0.0f);
    for (int64_t k = 0; k < weights.count; ++k) {
      const float a = token[k];
      for (int64_t r = 0; r < kPanelRows; ++r) run[r] = std::fma(tile[k * kPanelRows + r], a, run[r]);
    }
    if (sums.ends_run) end_run(sums, s);
  }
}

// Each weight is decoded once and used for all tokens. Columns rise in the outer loop, so each sum of a run is one
// ascending chain.
void gemv_panel(const PackedFormat& format, bool halves, const std::byte* panel, int64_t columns, const float* x,
                int64_t x_stride, int64_t tokens, float* total) {
  float sums[kGemvTokens * kPanelRows];
  std::fill_n(total, tokens * kPanelRows, 0.0f);
  for (ColumnRun run(columns); run.is_valid(); run.next()) {
    std::fill_n(sums, tokens * kPanelRows, 0.0f);
    for (int64_t k = run.first_column(); k < run.end_column(); ++k) {
      for (int64_t r = 0; r < kPanelRows; ++r) {
        const float w = weight(format, halves, panel, k, r);
        for (int64_t s = 0; s < tokens; ++s) {
          float& sum = sums[s * kPanelRows + r];
          sum = std::fma(w, x[s * x_stride + k], sum);
        }
      }
    }
    for (int64_t i = 0; i < tokens * kPanelRows; ++i) total[i] += sums[i];
  }
}

void round_half(const float* in, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = round_to_half(in[i]);
}

}  // namespace

const ExactLoops& plain_exact_loops() {
  static constexpr ExactLoops kLoops = {
      InstructionSet::portable, kGemvTokens, kGemvTokens, multiply_tile, gemv_panel, round_half};
  return kLoops;
}

}  // namespace tandem
