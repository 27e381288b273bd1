// Joins the parts of an online softmax; both attention kernels share it. Other kernels include this file; it is never
// built alone.
//
// A split with maximum `next` joins a running maximum `top`: `keep` is the factor of the old part, `take` that of the
// new one.
typedef struct {
  float top, keep, take;
} Merge;
INLINE Merge merge(const float top, const float next) {
  Merge m;
  m.top = larger(top, next);
  const float base = m.top == -INFINITY ? 0.0f : m.top;
  m.keep = exp1(top - base);
  m.take = exp1(next - base);
  return m;
}

// The softmax's sum with the exponential of a head's sink, which no value is weighed by.
#ifndef SINKS
#define SINKS 0
#endif
INLINE float sum_with_sink(const float sum, const float top, __global const float *sinks, const size_t head) {
#if SINKS
  return sum + exp1(sinks[head] - top);
#else
  return sum;
#endif
}

// True if `split` is in the share [share_begin, share_end), in units of 1/SHARES of the segment's splits. The segment's
// splits are those that its last token, at position `last`, sees (splits_of() of engine/device/operators/attention.h).
INLINE bool is_in_share(const int last, const int split, const int share_begin, const int share_end) {
  const int splits = last / SPLIT + 1;
  return split >= splits * share_begin / SHARES && split < splits * share_end / SHARES;
}
