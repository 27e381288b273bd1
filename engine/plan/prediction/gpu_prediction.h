// H8, prediction mode for the GPU: fixed rates (Williams, Waterman, Patterson: Roofline, 2009).
//
//   seconds = launch + max( bytes / bandwidth,  2 K rows (S + unpack_tokens) / rate )
//
// bytes and rows are those of whole panels. unpack_tokens: what turning a packed weight into a number costs, in tokens
// that could be multiplied meanwhile; it is why short prompts run below the rate that long ones reach. Up to 8 tokens,
// and single ones, have constants of their own, since kernels of their own run them (docs/plans.md). HeteroLLM uses a
// rate and a bandwidth only (4.3), on weights that need no more than a conversion.
#pragma once

#include <cstdint>
#include <span>

#include "engine/plan/prediction/matmul_point.h"

namespace tandem {

inline constexpr int64_t kFewTokens = 8;

struct GpuRates {
  double flops_per_second = 0;
  double bytes_per_second = 0;
  double launch_one_seconds = 0, launch_seconds = 0;           // of a single token; of several
  double unpack_tokens_of_few = 0, unpack_tokens_of_many = 0;  // up to 8 tokens; beyond

  double seconds(const MatMulPoint& point) const;
};

// The rates that measured points of one weight format speak of, each the median over the points that show it, found by
// turns until none changes:
//   bandwidth   single tokens
//   rate        a quarter of the largest number of tokens, and more
//   unpacking   2 to 8 tokens; 9 tokens and more that do not show the rate
//   launch      the smallest eighth of the matrices, single tokens and several
// Error where no point has more than 8 tokens, or none a single one.
GpuRates fit_gpu_rates(std::span<const MeasuredPoint> points);

// The same rates with the bandwidth of other points (none of a single token: as it was).
GpuRates with_bandwidth_of(const GpuRates& rates, std::span<const MeasuredPoint> points);

}  // namespace tandem
