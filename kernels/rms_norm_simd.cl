// Root-mean-square norm over the last axis, with the residual addition in front of it (Zhang and Sennrich
// 2019, arXiv:1910.07467).
//
//   v = x[s, g, :] (+ add_scale * add[s, g, :] by fma, written back to x);
//   y = v * (1 / sqrt(mean(v^2) + eps)) * (weight + unit).
// CENTRED = 1 uses v - mean(v) in place of v (LayerNorm: Ba et al. 2016, arXiv:1607.06450). HAS_BIAS = 1 adds a bias,
// by fma with the last product.
// Layout: x, y, add f32 at s*stride + g*width + i; weight, bias f32 [width], or [groups][width] with -DOWN_WEIGHTS=1.
// Work: one work-item (local size 1) per token (dimension 0) and group (dimension 1).
// Order: 64 lane sums; lane i takes elements i, i+64, ... Squares are summed by fma, values (for the mean) by addition;
//   then follows the tree of sum_64_lanes. A last part of fewer than 64 elements is filled with zeros, or with the mean
//   if that is subtracted.
// Limits: any width >= 1; y may be x. -DHAS_ADD=1 reads add. -DROUND_F16=1 rounds y, but never the residual stream x.
#include "rms_norm.cl"

__kernel void rms_norm_simd(BUFFER(x), BUFFER(y), BUFFER(add), BUFFER(weight), BUFFER(bias), const int width,
                            const int x_stride, const int y_stride, const int add_stride, const float unit, const float eps,
                            const float add_scale) {
  const size_t s = get_global_id(0), g = get_global_id(1);
  __global float *x = PTR(float, x) + s * x_stride + g * width;
  __global float *y = PTR(float, y) + s * y_stride + g * width;
  __global const float *weight = PTR(const float, weight) + WEIGHTS_OF(g);
  __global const float *bias = PTR(const float, bias) + WEIGHTS_OF(g);
  const int whole = width & ~15, rest = width & 15, whole64 = width & ~63;
#if HAS_ADD
  __global const float *add = PTR(const float, add) + s * add_stride + g * width;
#endif

  float16 sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};  // sums of squares; of values if the mean is needed first
  for (int i = 0; i < whole64; i += 64) {
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      float16 v = vload16(b, x + i);
#if HAS_ADD
      v = fma((float16)(add_scale), vload16(b, add + i), v);
      STORE16(__global, v, x + i + b * 16);
#endif
      sums[b] = ADD_UP(v, sums[b]);
    }
  }
#pragma unroll
  for (int b = 0; b < 4; ++b) {
    const int at = whole64 + b * 16, left = width - at;
    if (left <= 0) continue;
    float16 v = load_up_to(x + at, left, 0.0f);
#if HAS_ADD
    v = fma((float16)(add_scale), load_up_to(add + at, left, 0.0f), v);
    store_rows(v, x + at, left);
#endif
    sums[b] = ADD_UP(v, sums[b]);
  }
#if CENTRED
  const float mean = sum_64_lanes(sums) / (float)width;
#pragma unroll
  for (int b = 0; b < 4; ++b) sums[b] = 0.0f;
  for (int i = 0; i < whole64; i += 64) {
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      const float16 v = vload16(b, x + i) - mean;
      sums[b] = fma(v, v, sums[b]);
    }
  }
#pragma unroll
  for (int b = 0; b < 4; ++b) {
    const int at = whole64 + b * 16, left = width - at;
    if (left <= 0) continue;
    const float16 v = load_up_to(x + at, left, mean) - mean;
    sums[b] = fma(v, v, sums[b]);
  }
#endif
  const float inverse = inverse_root(sum_64_lanes(sums) / (float)width + eps);

  for (int i = 0; i < whole; i += 16) {
    float16 v = OF_VALUE(vload16(0, x + i)) * inverse;
    v = WITH_BIAS(v, vload16(0, weight + i) + unit, vload16(0, bias + i));
#if ROUND_F16
    v = round_f16x16(v);
#endif
    STORE16(__global, v, y + i);
  }
  if (rest) {
    float16 v = OF_VALUE(load_part(x + whole, rest, 0.0f)) * inverse;
    v = WITH_BIAS(v, load_part(weight + whole, rest, 0.0f) + unit, load_part(bias + whole, rest, 0.0f));
#if ROUND_F16
    v = round_f16x16(v);
#endif
    store_part(v, y + whole, rest);
  }
}
