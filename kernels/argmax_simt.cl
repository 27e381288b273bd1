// Finds the index of the largest value of each row; among equal values, the lowest index.
//
// Layout: x f32 at s*x_stride + i; ids int32 [S].
// Work: one work-group of 64 per row. Each work-item keeps the first index of its largest value. A tree then finds the
//   largest value of all, and an atomic minimum the lowest index among the work-items that hold it.
// Limits: any width >= 1. NaN is never the largest; a row of NaN gives 0.

__kernel void argmax_simt(BUFFER(x), BUFFER(ids), const int width, const int x_stride) {
  __local float lanes[64];
  __local int lowest;
  const int lane = get_local_id(0);
  const size_t s = get_group_id(0);
  __global const float *x = PTR(const float, x) + s * x_stride;
  if (lane == 0) lowest = INT_MAX;
  float best = -INFINITY;
  int best_at = INT_MAX;
  for (int i = lane; i < width; i += 64) {
    if (x[i] > best) {
      best = x[i];
      best_at = i;
    }
  }
  const float top = group_largest(lanes, best);  // its barriers also order the start value of `lowest`
  if (best == top) atomic_min(&lowest, best_at);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane == 0) PTR(int, ids)[s] = lowest == INT_MAX ? 0 : lowest;  // no value is above -inf: the first of equal values
}
