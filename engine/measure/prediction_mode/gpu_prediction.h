// H8, prediction mode for the GPU: fixed rates (Williams, Waterman, Patterson: Roofline, 2009).
//
//   seconds = launch + max( bytes / bandwidth,  2 K rows (S + unpack_tokens) / rate )
//
// bytes and rows are those of whole panels. unpack_tokens is the cost of turning a packed weight into a number, in
// tokens that could be multiplied meanwhile. It explains why short prompts run below the rate of long ones. Single
// tokens, and up to 8 tokens, have constants of their own, since other kernels run them (docs/plans.md). HeteroLLM uses
// only a rate and a bandwidth (4.3), for weights that need no more than a conversion.
//
// Contract: pure functions. `tandem profile` uses them. Plans have other
// estimates (engine/plan/prediction/device_rates.h).
#pragma once

#include <cstdint>
#include <span>

#include "engine/plan/prediction/matmul_point.h"

namespace tandem {

struct GpuRates {
  double flops_per_second = 0;
  double bytes_per_second = 0;
  double launch_one_seconds = 0, launch_seconds = 0;                          // for a single token; for several tokens
  double unpack_tokens_of_small_batch = 0, unpack_tokens_of_large_batch = 0;  // up to 8 tokens; more than 8

  double seconds(const MatMulPoint& point) const;
};

// Fits the rates to measured points of one weight format. Each constant is the median over the points that show it. The
// constants are refined in turns until none changes. Points that show a constant:
//   bandwidth   Single tokens.
//   rate        A quarter of the largest number of tokens, and more.
//   unpacking   2 to 8 tokens; and 9 tokens or more if they do not show the rate.
//   launch      The smallest eighth of the matrices, for single tokens and for several.
// Error if no point has more than 8 tokens, or if no point has a single token.
GpuRates fit_gpu_rates(std::span<const MeasuredPoint> points);

// The same rates with the bandwidth of other points. Without a point of a single token the bandwidth stays.
GpuRates with_bandwidth_of(const GpuRates& rates, std::span<const MeasuredPoint> points);

}  // namespace tandem
