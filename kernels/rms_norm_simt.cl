// Root-mean-square norm over the last axis, with the residual addition in front of it (Zhang and Sennrich
// 2019, arXiv:1910.07467).
//
//   v = x[s, g, :] (+ add_scale * add[s, g, :] by fma, written back to x);
//   y = v * (1 / sqrt(mean(v^2) + eps)) * (weight + unit).
// CENTRED = 1 uses v - mean(v) in place of v (LayerNorm: Ba et al. 2016, arXiv:1607.06450). HAS_BIAS = 1 adds a bias,
// by fma with the last product.
// Layout: x, y, add f32 at s*stride + g*width + i; weight, bias f32 [width], or [groups][width] with -DOWN_WEIGHTS=1.
// Work: one work-group of 64 per token (dimension 0) and group (dimension 1); neighbours take neighbouring elements.
// Order: 64 lane sums; lane i takes elements i, i+64, ... Squares are summed by fma, values (for the mean) by addition;
//   then follows the tree of group_sum.
// Limits: any width >= 1; y may be x. -DHAS_ADD=1 reads add. -DROUND_F16=1 rounds y, but never the residual stream x.
#include "rms_norm.cl"

__kernel void rms_norm_simt(BUFFER(x), BUFFER(y), BUFFER(add), BUFFER(weight), BUFFER(bias), const int width,
                            const int x_stride, const int y_stride, const int add_stride, const float unit, const float eps,
                            const float add_scale) {
  __local float lanes[64];
  const size_t s = get_group_id(0), g = get_group_id(1);
  const int lane = get_local_id(0);
  __global float *x = PTR(float, x) + s * x_stride + g * width;
  __global float *y = PTR(float, y) + s * y_stride + g * width;
  __global const float *weight = PTR(const float, weight) + WEIGHTS_OF(g), *bias = PTR(const float, bias) + WEIGHTS_OF(g);

  float sum = 0.0f;  // a sum of squares; of values if the mean is needed first
  for (int i = lane; i < width; i += 64) {
    float v = x[i];
#if HAS_ADD
    v = fma(add_scale, (PTR(const float, add) + s * add_stride + g * width)[i], v);
    x[i] = v;
#endif
    sum = ADD_UP(v, sum);
  }
#if CENTRED
  const float mean = group_sum(lanes, sum) / (float)width;
  sum = 0.0f;
  for (int i = lane; i < width; i += 64) {  // a work-item reads only elements that it wrote itself, also below
    const float v = x[i] - mean;
    sum = fma(v, v, sum);
  }
#endif
  const float inverse = inverse_root(group_sum(lanes, sum) / (float)width + eps);
  for (int i = lane; i < width; i += 64) {
    const float v = WITH_BIAS(OF_VALUE(x[i]) * inverse, weight[i] + unit, bias[i]);
#if ROUND_F16
    y[i] = round_f16(v);
#else
    y[i] = v;
#endif
  }
}
