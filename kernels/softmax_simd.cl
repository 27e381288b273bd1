// Softmax over each row, in place: x = exp(x - max) / sum exp(x - max).
//
// Layout: x f32 at s*x_stride + i.
// Work: one work-item (local size 1) per row, three passes over it.
// Order: the sum is 64 lane sums (lane i takes elements i, i+64, ...), then the tree of sum_64_lanes. A last part of
//   fewer than 64 elements is filled with zeros. exp is exp16 of common.cl.
// Limits: any width >= 1. A row in which all values are -inf gives NaN, as the formula does.

__kernel void softmax_simd(BUFFER(x), const int width, const int x_stride) {
  __global float *x = PTR(float, x) + get_global_id(0) * x_stride;
  const int whole = width & ~15, rest = width & 15;
  float16 top = -INFINITY;
  for (int i = 0; i < whole; i += 16) top = larger16(top, vload16(0, x + i));
  if (rest) top = larger16(top, load_part(x + whole, rest, -INFINITY));
  const float largest = largest_lane(top);

  const int whole64 = width & ~63;
  float16 sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int i = 0; i < whole64; i += 64) {
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      const float16 e = exp16(vload16(b, x + i) - largest);
      STORE16(__global, e, x + i + b * 16);
      sums[b] += e;
    }
  }
#pragma unroll
  for (int b = 0; b < 4; ++b) {
    const int at = whole64 + b * 16, left = width - at;
    if (left <= 0) continue;
    const float16 e = exp16(load_up_to(x + at, left, -INFINITY) - largest);
    store_rows(e, x + at, left);
    sums[b] += e;
  }
  const float sum = sum_64_lanes(sums);

  for (int i = 0; i < whole; i += 16) STORE16(__global, vload16(0, x + i) / sum, x + i);
  for (int i = whole; i < width; ++i) x[i] /= sum;
}
