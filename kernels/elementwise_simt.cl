// Element-wise operators in place: the residual connection (add_simt), a bias vector
// (bias_simt), a factor (scale_simt), a factor of each expert (expert_scale_simt).
//   scale_simt computes x = factor * x. With a cap above 0 it then computes x = cap * tanh(x / cap), by
//   tanh(u) = 1 - 2 / (1 + exp(2 u)).
//
// Layout: x f32 at s*x_stride + i; y f32 at s*y_stride + i; bias f32 [width]. With -DCHOSEN=1 bias is f32 [experts, width]
//   and row s gets that of expert ids[s], unless places[s] is below 0. expert_scale_simt always takes experts: factors
//   f32 [experts].
// Work: one work-item per element. Dimension 0 is i (rounded up to groups of 64), dimension 1 the token. `chunk` is 1.
// Limits: any width.

#ifndef CHOSEN
#define CHOSEN 0
#endif

__kernel void add_simt(BUFFER(x), BUFFER(y), const int width, const int x_stride, const int y_stride, const int chunk) {
  const size_t s = get_global_id(1), i = get_global_id(0) * chunk;
  if (i < width) PTR(float, x)[s * x_stride + i] += PTR(const float, y)[s * y_stride + i];
}

__kernel void bias_simt(BUFFER(x), BUFFER(bias), BUFFER(ids), BUFFER(places), const int width, const int x_stride, const int chunk) {
  const size_t s = get_global_id(1), i = get_global_id(0) * chunk;
  __global const float *bias = PTR(const float, bias);
#if CHOSEN
  if (PTR(const int, places)[s] < 0) return;
  bias += (size_t)PTR(const int, ids)[s] * width;
#endif
  if (i < width) PTR(float, x)[s * x_stride + i] += bias[i];
}

__kernel void scale_simt(BUFFER(x), const int width, const int x_stride, const int chunk, const float factor, const float cap) {
  const size_t s = get_global_id(1), i = get_global_id(0) * chunk;
  if (i >= width) return;
  __global float *x = PTR(float, x) + s * x_stride + i;
  const float v = *x * factor;
  *x = cap > 0.0f ? soft_cap1(v, cap) : v;
}

__kernel void expert_scale_simt(BUFFER(x), BUFFER(factors), BUFFER(ids), BUFFER(places), const int width, const int x_stride, const int chunk) {
  const size_t s = get_global_id(1), i = get_global_id(0) * chunk;
  if (PTR(const int, places)[s] < 0 || i >= width) return;
  PTR(float, x)[s * x_stride + i] *= PTR(const float, factors)[PTR(const int, ids)[s]];
}
