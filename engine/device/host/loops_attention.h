// Attention of one query head of one token, split by split of kSplit absolute positions (docs/numbers.md has the
// order): a score is one fma chain over the head, a value element one chain over ascending positions, and splits are
// merged in ascending order.
#pragma once

#include "engine/device/host/loops.h"
#include "engine/device/host/loops_lanes.h"

namespace tandem::host {
namespace {

constexpr int kSplit = 256;  // kAttentionSplit
constexpr int kAtOnce = 4;   // independent chains: blocks of 16 positions, or vectors of a value row

struct CacheElement {
  const void* base;
  bool f16;
};

LANES_INLINE Lanes load_cache(const CacheElement& cache, int64_t index) {
  return cache.f16 ? from_halves(static_cast<const uint16_t*>(cache.base) + index)
                   : load(static_cast<const float*>(cache.base) + index);
}
LANES_INLINE Lanes load_cache_part(const CacheElement& cache, int64_t index, int64_t count) {
  if (!cache.f16) return load_part(static_cast<const float*>(cache.base) + index, count, 0);
  uint16_t halves[16] = {};
  std::memcpy(halves, static_cast<const uint16_t*>(cache.base) + index, static_cast<size_t>(count) * sizeof(uint16_t));
  return from_halves(halves);
}

// Scores of the positions [first, end) go to p, -inf beyond the last one; returns the largest.
LANES_INLINE float score_split(const AttendArgs& args, int64_t first, int64_t end, float* p) {
  const CacheElement k{args.k, args.f16};
  const int64_t dim = args.head_dim;
  Lanes tops = all(-__builtin_inff());
  for (int64_t block = first; block < end; block += 16 * kAtOnce) {  // the capacity is a multiple of 64
    Lanes scores[kAtOnce];
    for (Lanes& score : scores) score = all(0.0f);
    for (int64_t d = 0; d < dim; ++d) {
      const Lanes q = all(args.q[d]);
#pragma GCC unroll 4
      for (int j = 0; j < kAtOnce; ++j) scores[j] = fma(q, load_cache(k, ((block / 16 + j) * dim + d) * 16), scores[j]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < kAtOnce; ++j) {
      const Words beyond =
          greater(counting_from(static_cast<int32_t>(block + 16 * j)), static_cast<int32_t>(args.last));
      const Lanes score = select(beyond, all(-__builtin_inff()), scores[j] * all(args.scale));
      tops = larger(tops, score);
      store(p + (block - first) + 16 * j, score);
    }
  }
  return largest_lane(tops);
}

// values = keep * values + take * (p . V): how one split joins the others.
LANES_INLINE void weigh_split(const AttendArgs& args, int64_t first, int64_t end, const float* p, float keep,
                              float take, float* values) {
  const CacheElement v{args.v, args.f16};
  const int64_t width = args.head_dim_v;
  int64_t c = 0;
  for (; c + 16 * kAtOnce <= width; c += 16 * kAtOnce) {
    Lanes acc[kAtOnce];
    for (Lanes& sum : acc) sum = all(0.0f);
    for (int64_t n = first; n < end; ++n) {
      const Lanes weight = all(p[n - first]);
#pragma GCC unroll 4
      for (int j = 0; j < kAtOnce; ++j) acc[j] = fma(weight, load_cache(v, n * width + c + 16 * j), acc[j]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < kAtOnce; ++j) {
      float* to = values + c + 16 * j;
      store(to, fma(acc[j], all(take), load(to) * all(keep)));
    }
  }
  for (; c < width; c += 16) {
    const int64_t left = width - c;
    Lanes acc = all(0.0f);
    for (int64_t n = first; n < end; ++n)
      acc = fma(all(p[n - first]), left >= 16 ? load_cache(v, n * width + c) : load_cache_part(v, n * width + c, left),
                acc);
    store(values + c, fma(acc, all(take), load(values + c) * all(keep)));
  }
}

void attend(const AttendArgs& args) {
  const float lowest = -__builtin_inff();
  alignas(64) float p[kSplit], values[kMaxHeadDimV] = {};
  float top = lowest, sum = 0;
  for (int64_t first = 0; first <= args.last; first += kSplit) {
    const int64_t end = args.last + 1 < first + kSplit ? args.last + 1 : first + kSplit;
    const float split_top = score_split(args, first, end, p);
    const float split_base = split_top == lowest ? 0.0f : split_top;
    Lanes sums = all(0.0f);
    for (int64_t n = 0; n < end - first; n += 16) {
      const Lanes e = exp(load(p + n) - all(split_base));
      store(p + n, e);
      sums = sums + e;
    }
    const float next = split_top > top ? split_top : top, base = next == lowest ? 0.0f : next;
    const float keep = exp1(top - base), take = exp1(split_top - base);
    sum = __builtin_fmaf(sum_lanes(sums), take, sum * keep);
    weigh_split(args, first, end, p, keep, take, values);
    top = next;
  }
  for (int64_t c = 0; c < args.head_dim_v; c += 16) {
    Lanes y = load(values + c) / all(sum);
    if (args.round_f16) y = round_f16(y);
    args.head_dim_v - c >= 16 ? store(args.y + c, y) : store_part(args.y + c, y, args.head_dim_v - c);
  }
}

}  // namespace
}  // namespace tandem::host
