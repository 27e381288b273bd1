// What a pass has to read and to compute at the least, and how its rate stands against what the cores could do
// (Williams, Waterman, Patterson: Roofline, 2009).
//
// Contract: pure functions on plans and numbers. Bytes are those that come from memory once a pass: packed weights and
// the KV cache; activations stay in caches and are not counted. FLOPs are the useful ones: multiply and add count as
// two, norms, rotations and softmax are left out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/operator.h"
#include "engine/plan/plan.h"

namespace tandem {

// Of one pass whose first token is at position `first_position`.
//   matmul     bytes: the panels of its rows; flops: 2 S K N
//   embed      bytes: S rows of the table
//   attention  bytes: K and V of every position its last token sees, once; flops: 2 heads (head_dim + head_dim_v) for
//              each pair of a token and a position it sees. The tokens of an operator that was cut start where its
//              `positions` do.
Work useful_work(std::span<const Step> steps, int64_t first_position);

// What cores can do at most, measured. 0: not measured.
struct CorePeaks {
  double fma_one_gflops = 0, fma_all_gflops = 0;  // f32 multiply-adds, of one core and of all used ones
  double read_one_gbps = 0, read_all_gbps = 0;    // reading memory, one thread and one a used core
  double int8_one_gops = 0, int8_all_gops = 0;    // multiply-adds of 4-bit or 8-bit codes and 8-bit activations
};
CorePeaks median_of(std::span<const CorePeaks> measured);  // each figure by itself; zeros without any

// Rates of something that took `seconds`, and their shares of the peaks of all used cores.
struct RooflineShares {
  double gbps = 0, gflops = 0;
  double read_share = 0, fma_share = 0, int8_share = 0;  // 0 where the peak is 0
};
RooflineShares against(const CorePeaks& peaks, const Work& work, double seconds);

}  // namespace tandem
