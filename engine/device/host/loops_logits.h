// Loops over one row of logits, as long as a vocabulary: the largest one, and the sum of a softmax.
#pragma once

#include "engine/device/host/loops_lanes.h"
#include "engine/device/host/loops_rows.h"

namespace tandem::host {
namespace {

// Comparisons with NaN are false, so `lowest` takes the place of NaN. x * 0 is 0 where x is finite, and NaN elsewhere.
LANES_INLINE Lanes largest_of_64(const float* x, int64_t left, Lanes& zeros) {
  const Lanes lowest = all(-__builtin_inff());
  Lanes tops[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    tops[j] = lowest;
    if (16 * j >= left) continue;
    const Lanes v = load_upto(x + 16 * j, left - 16 * j, x[16 * j]);
    zeros = zeros + v * all(0.0f);
    tops[j] = larger(lowest, v);
  }
  return larger(larger(tops[0], tops[1]), larger(tops[2], tops[3]));
}

LANES_INLINE void replace_at(Words& words, Words mask, int32_t value) {
  EACH_PART words.p[i] = mask.p[i] ? value - WordPart{} : words.p[i];
}

// Each lane keeps the first block of 64 elements that has the lane's largest value. The first block of all lanes is
// then searched.
LogitScan scan_logits(const float* x, int64_t count) {
  const float lowest = -__builtin_inff();
  Lanes tops = all(lowest), zeros = all(0.0f);
  Words blocks = counting_from(0);
  int32_t block = 0;
  for (int64_t i = 0; i < count; i += 64, ++block) {
    const Lanes v = largest_of_64(x + i, count - i, zeros);
    const Words is_larger = v > tops;
    tops = select(is_larger, v, tops);
    replace_at(blocks, is_larger, block);
  }
  float top[16], zero[16];
  int32_t of_lane[16];
  store(top, tops);
  store(zero, zeros);
  std::memcpy(of_lane, &blocks, sizeof of_lane);
  LogitScan found{largest_lane(tops), 0, true};
  int64_t first = count;
  for (int n = 0; n < 16; ++n) {
    if (top[n] == found.largest && int64_t{of_lane[n]} * 64 < first) first = int64_t{of_lane[n]} * 64;
    if (!(zero[n] == 0)) found.is_finite = false;
  }
  if (found.largest == lowest) return found;
  while (!(x[first] == found.largest)) ++first;
  found.first = first;
  return found;
}

// Sums of 4,096 elements in f32, each by 64 lanes and a tree, are added in double precision.
double sum_of_exp(const float* x, int64_t count, float largest, float factor) {
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += 4096) {
    const int64_t part = count - begin < 4096 ? count - begin : 4096;
    RowSums sums = no_sums();
    each_part_of_row(
        part, sums, [&](int64_t i, Lanes & sum) __attribute__((always_inline)) {
          const Lanes v = load_upto(x + begin + i, part - i, -__builtin_inff());
          sum = sum + exp_of_none_above_0((v - all(largest)) * all(factor));
        });
    total += sum_row(sums);
  }
  return total;
}

}  // namespace
}  // namespace tandem::host
