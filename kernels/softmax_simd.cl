// Softmax over each row, in place: x = exp(x - max) / sum exp(x - max).
//
// Layout: x f32 at s*x_stride + i.
// Work: one work-item (local size 1) per row, three passes over it.
// Order: the sum is 16 lane sums (lane i takes elements i, i+16, ...), then the tree of sum_lanes. A last part of fewer
//   than 16 elements is filled with zeros. exp is exp16 of common.cl.
// Limits: any width >= 1. A row in which all values are -inf gives NaN, as the formula does.

__kernel void softmax_simd(BUFFER(x), const int width, const int x_stride) {
  __global float *x = PTR(float, x) + get_global_id(0) * x_stride;
  const int whole = width & ~15, rest = width & 15;
  float16 top = -INFINITY;
  for (int i = 0; i < whole; i += 16) top = larger16(top, vload16(0, x + i));
  if (rest) top = larger16(top, load_part(x + whole, rest, -INFINITY));
  const float largest = largest_lane(top);

  float16 sums = 0.0f;
  for (int i = 0; i < whole; i += 16) {
    const float16 e = exp16(vload16(0, x + i) - largest);
    STORE16(__global, e, x + i);
    sums += e;
  }
  if (rest) {
    const float16 e = exp16(load_part(x + whole, rest, -INFINITY) - largest);
    store_part(e, x + whole, rest);
    sums += e;
  }
  const float sum = sum_lanes(sums);

  for (int i = 0; i < whole; i += 16) STORE16(__global, vload16(0, x + i) / sum, x + i);
  for (int i = whole; i < width; ++i) x[i] /= sum;
}
