// Computes what a pass must read and compute at least, and compares its rate with what the cores can do (Williams,
// Waterman, Patterson: Roofline, 2009).
//
// Contract: pure functions on plans and numbers. Bytes are what comes from memory once a pass: packed weights and the
// KV cache. Activations stay in caches and do not count. FLOPs are the useful ones: multiply and add count as two;
// norms, rotations and softmax do not count.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/operator.h"
#include "engine/plan/plan.h"

namespace tandem {

// The useful work of one pass whose first token is at position `first_position`:
//   matmul     bytes: the panels of its rows; flops: 2 S K N
//   embed      bytes: S rows of the table
//   attention  bytes: K and V of every position that its last token sees, once; flops: 2 heads (head_dim + head_dim_v)
//              for each pair of a token and a position that it sees. In an operator that was cut, the first token's
//              position follows from the offset of `positions`.
Work useful_work(std::span<const Step> steps, int64_t first_position);

// Measured peaks of the cores. 0: not measured.
struct CorePeaks {
  double fma_one_gflops = 0, fma_all_gflops = 0;  // f32 multiply-adds, one core and all used cores
  double read_one_gbps = 0, read_all_gbps = 0;    // reading memory, one thread and one per used core
  double int8_one_gops = 0, int8_all_gops = 0;    // multiply-adds of 4-bit or 8-bit codes and 8-bit activations
};
CorePeaks median_of(std::span<const CorePeaks> measured);  // each figure by itself; zeros for an empty list

// Rates of work that took `seconds`, and their shares of the peaks of all used cores.
struct RooflineShares {
  double gbps = 0, gflops = 0;
  double read_share = 0, fma_share = 0, int8_share = 0;  // 0 where the peak is 0
};
RooflineShares against(const CorePeaks& peaks, const Work& work, double seconds);

}  // namespace tandem
