// Finds the k largest values of each row and their indices, in falling order; among equal values the lowest index
// comes first.
//
// Layout: x f32 at s*x_stride + i; ids int32 [S, k]; values f32 [S, k].
// Work: one work-group of 64 per row, in k rounds over it. A round finds the largest value and its lowest index. It
//   looks only at elements that come after the one found before: smaller, or equal with a higher index. So nothing is
//   marked or removed.
// Limits: 1 <= k <= 64, k <= width; NaN sorts as -inf.

__kernel void top_k_simt(BUFFER(x), BUFFER(ids), BUFFER(values), const int width, const int k, const int x_stride) {
  __local float lanes[64];
  __local int lowest;
  const int lane = get_local_id(0);
  const size_t s = get_group_id(0);
  __global const float *x = PTR(const float, x) + s * x_stride;
  float last = INFINITY;
  int last_at = -1;
  for (int round = 0; round < k; ++round) {
    if (lane == 0) lowest = INT_MAX;
    float best = -INFINITY;
    int best_at = INT_MAX;
    for (int i = lane; i < width; i += 64) {
      const float v = isnan(x[i]) ? -INFINITY : x[i];
      const int after = v < last || (v == last && i > last_at);
      if (after && (v > best || best_at == INT_MAX)) {
        best = v;
        best_at = i;
      }
    }
    const float top = group_largest(lanes, best);  // its barriers also order the start value of `lowest`
    if (best == top) atomic_min(&lowest, best_at);
    barrier(CLK_LOCAL_MEM_FENCE);
    last = top;
    last_at = lowest;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
      PTR(int, ids)[s * k + round] = last_at;
      PTR(float, values)[s * k + round] = last;
    }
  }
}
