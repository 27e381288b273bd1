// Root-mean-square norm over the last axis, with the residual addition in front of it (Zhang and Sennrich 2019, arXiv:1910.07467).
//
//   v = x[s, g, :] (+ add_scale * add[s, g, :] by fma, written back to x);  y = v * (1 / sqrt(mean(v^2) + eps)) * (weight + unit)
// Layout: x, y, add f32 at s*stride + g*width + i; weight f32 [width].
// Work: one work-item (local size 1) per token (dimension 0) and group (dimension 1).
// Order: 16 lane sums, lane i takes elements i, i+16, ... by fma; then the tree of sum_lanes. A last part of fewer than 16 elements
//   counts as filled up with zeros.
// Limits: any width >= 1; y may be x. -DHAS_ADD=1 reads add, -DROUND_F16=1 rounds y (never the residual stream x).
#ifndef HAS_ADD
#define HAS_ADD 0
#endif
#ifndef ROUND_F16
#define ROUND_F16 0
#endif

__kernel void rms_norm_simd(BUFFER(x), BUFFER(y), BUFFER(add), BUFFER(weight), const int width, const int x_stride,
                            const int y_stride, const int add_stride, const float unit, const float eps,
                            const float add_scale) {
  const size_t s = get_global_id(0), g = get_global_id(1);
  __global float *x = AT(float, x) + s * x_stride + g * width;
  __global float *y = AT(float, y) + s * y_stride + g * width;
  __global const float *weight = AT(const float, weight);
  const int whole = width & ~15, rest = width & 15;
#if HAS_ADD
  __global const float *add = AT(const float, add) + s * add_stride + g * width;
#endif

  float16 squares = 0.0f;
  for (int i = 0; i < whole; i += 16) {
    float16 v = vload16(0, x + i);
#if HAS_ADD
    v = fma((float16)(add_scale), vload16(0, add + i), v);
    STORE16(__global, v, x + i);
#endif
    squares = fma(v, v, squares);
  }
  if (rest) {
    float16 v = load_part(x + whole, rest, 0.0f);
#if HAS_ADD
    v = fma((float16)(add_scale), load_part(add + whole, rest, 0.0f), v);
    store_part(v, x + whole, rest);
#endif
    squares = fma(v, v, squares);
  }
  const float inverse = 1.0f / sqrt(sum_lanes(squares) / (float)width + eps);

  for (int i = 0; i < whole; i += 16) {
    float16 v = vload16(0, x + i) * inverse * (vload16(0, weight + i) + unit);
#if ROUND_F16
    v = round_f16x16(v);
#endif
    STORE16(__global, v, y + i);
  }
  if (rest) {
    float16 v = load_part(x + whole, rest, 0.0f) * inverse * (load_part(weight + whole, rest, 0.0f) + unit);
#if ROUND_F16
    v = round_f16x16(v);
#endif
    store_part(v, y + whole, rest);
  }
}
