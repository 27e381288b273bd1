// Element-wise operators in place: the residual connection (add_simd), a bias vector
// (bias_simd), a factor (scale_simd), a factor of each expert (expert_scale_simd).
//   scale_simd computes x = factor * x. With a cap above 0 it then computes x = cap * tanh(x / cap), by
//   tanh(u) = 1 - 2 / (1 + exp(2 u)).
//
// Layout: x f32 at s*x_stride + i; y f32 at s*y_stride + i; bias f32 [width]. With -DCHOSEN=1 bias is f32 [experts, width]
//   and row s gets that of expert ids[s], unless places[s] is below 0. expert_scale_simd always takes experts: factors
//   f32 [experts].
// Work: dimension 0 is a run of `chunk` elements of a row, dimension 1 the token; local size 1.
// Limits: any width; chunk is a multiple of 16.

#ifndef CHOSEN
#define CHOSEN 0
#endif

INLINE void add_run(__global float *x, __global const float *y, const int count) {
  int i = 0;
  for (; i + 16 <= count; i += 16) STORE16(__global, vload16(0, x + i) + vload16(0, y + i), x + i);
  for (; i < count; ++i) x[i] += y[i];
}

__kernel void add_simd(BUFFER(x), BUFFER(y), const int width, const int x_stride, const int y_stride, const int chunk) {
  const size_t s = get_global_id(1);
  const int begin = get_global_id(0) * chunk;
  add_run(PTR(float, x) + s * x_stride + begin, PTR(const float, y) + s * y_stride + begin, min(chunk, width - begin));
}

__kernel void bias_simd(BUFFER(x), BUFFER(bias), BUFFER(ids), BUFFER(places), const int width, const int x_stride, const int chunk) {
  const size_t s = get_global_id(1);
  const int begin = get_global_id(0) * chunk;
  __global const float *bias = PTR(const float, bias);
#if CHOSEN
  if (PTR(const int, places)[s] < 0) return;
  bias += (size_t)PTR(const int, ids)[s] * width;
#endif
  add_run(PTR(float, x) + s * x_stride + begin, bias + begin, min(chunk, width - begin));
}

INLINE float16 scaled16(const float16 x, const float factor, const float cap) {
  const float16 v = x * factor;
  return cap > 0.0f ? soft_cap16(v, cap) : v;
}

__kernel void scale_simd(BUFFER(x), const int width, const int x_stride, const int chunk, const float factor, const float cap) {
  const size_t s = get_global_id(1);
  const int begin = get_global_id(0) * chunk, end = min(width, begin + chunk);
  __global float *x = PTR(float, x) + s * x_stride;
  int i = begin;
  for (; i + 16 <= end; i += 16) STORE16(__global, scaled16(vload16(0, x + i), factor, cap), x + i);
  if (i < end) store_part(scaled16(load_part(x + i, end - i, 0.0f), factor, cap), x + i, end - i);
}

__kernel void expert_scale_simd(BUFFER(x), BUFFER(factors), BUFFER(ids), BUFFER(places), const int width, const int x_stride, const int chunk) {
  const size_t s = get_global_id(1);
  if (PTR(const int, places)[s] < 0) return;
  const float factor = PTR(const float, factors)[PTR(const int, ids)[s]];
  const int begin = get_global_id(0) * chunk, end = min(width, begin + chunk);
  __global float *x = PTR(float, x) + s * x_stride;
  int i = begin;
  for (; i + 16 <= end; i += 16) STORE16(__global, vload16(0, x + i) * factor, x + i);
  for (; i < end; ++i) x[i] *= factor;
}
