// Joining the parts of an online softmax: what both attention kernels share. Not a source of its own; included.
//
// How much of the old and of the new part is kept when a split with maximum `next` joins a running maximum `top`.
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

// Whether `split` is of the share [share_begin, share_end) in SHARES of the splits that a segment sees whose last token is at `last`
// (splits_of() of engine/device/operators/attention.h).
INLINE bool is_in_share(const int last, const int split, const int share_begin, const int share_end) {
  const int splits = last / SPLIT + 1;
  return split >= splits * share_begin / SHARES && split < splits * share_end / SHARES;
}
