// Finds the index of the largest value of each row; among equal values, the lowest index.
//
// Layout: x f32 at s*x_stride + i; ids int32 [S].
// Work: one work-item (local size 1) per row. Each of 16 lanes keeps the first index of its largest value; the kernel
//   merges the lanes at the end.
// Limits: any width >= 1. NaN is never the largest; a row of NaN gives 0.

__kernel void argmax_simd(BUFFER(x), BUFFER(ids), const int width, const int x_stride) {
  const size_t s = get_global_id(0);
  __global const float *x = PTR(const float, x) + s * x_stride;
  const int whole = width & ~15;
  float16 best = -INFINITY;
  int16 best_at = INT_MAX, at = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (int i = 0; i < whole; i += 16) {
    const float16 v = vload16(0, x + i);
    best_at = v > best ? at : best_at;
    best = v > best ? v : best;
    at += 16;
  }
  float values[16];
  int indices[16];
  vstore16(best, 0, values);
  vstore16(best_at, 0, indices);
  float top = -INFINITY;
  int top_at = INT_MAX;
  for (int lane = 0; lane < 16; ++lane) {
    if (values[lane] > top || (values[lane] == top && indices[lane] < top_at)) {
      top = values[lane];
      top_at = indices[lane];
    }
  }
  for (int i = whole; i < width; ++i) {
    if (x[i] > top) {
      top = x[i];
      top_at = i;
    }
  }
  PTR(int, ids)[s] = top_at == INT_MAX ? 0 : top_at;  // no value is above -inf: the first of equal values
}
