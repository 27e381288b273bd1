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
