// Finds the k largest values of each row and their indices, in falling order; among equal values the lowest index
// comes first.
//
// Layout: x f32 at s*x_stride + i; ids int32 [S, k]; values f32 [S, k].
// Work: one work-item (local size 1) per row. It keeps the k best values so far in a sorted list in private memory. It
//   skips a run of 64 values whose largest is not above the k-th best, without looking at single values.
// Limits: 1 <= k <= 64, k <= width; NaN sorts as -inf.

__kernel void top_k_simd(BUFFER(x), BUFFER(ids), BUFFER(values), const int width, const int k, const int x_stride) {
  const size_t s = get_global_id(0);
  __global const float *x = PTR(const float, x) + s * x_stride;
  float best[64];
  int best_at[64];
  int held = 0;
  for (int begin = 0; begin < width; begin += 64) {
    const int end = min(width, begin + 64);
    if (held == k && end - begin == 64) {
      float16 top = -INFINITY;  // in front of the comparisons: larger16 gives its first argument when the second is NaN
      for (int i = 0; i < 4; ++i) top = larger16(top, vload16(i, x + begin));
      if (!(largest_lane(top) > best[k - 1])) continue;
    }
    for (int i = begin; i < end; ++i) {
      const float v = isnan(x[i]) ? -INFINITY : x[i];
      if (held == k && !(v > best[k - 1])) continue;
      int at = held < k ? held++ : k - 1;
      for (; at > 0 && v > best[at - 1]; --at) {
        best[at] = best[at - 1];
        best_at[at] = best_at[at - 1];
      }
      best[at] = v;
      best_at[at] = i;
    }
  }
  for (int i = 0; i < k; ++i) {
    PTR(int, ids)[s * k + i] = best_at[i];
    PTR(float, values)[s * k + i] = best[i];
  }
}
