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
// -DCODES=1 makes rms_norm_codes_simt, which writes the codes of y too (act_i8.cl). It has one group, and a width of
//   whole groups of codes. A work-item makes the codes of 32 columns that lie in local memory; 8.3 KB there.
#include "rms_norm.cl"
#ifndef CODES
#define CODES 0
#endif
#if CODES
#include "act_i8.cl"
#include "code_tile.cl"
#define NORM_KERNEL rms_norm_codes_simt
#define CODES_ARGUMENT , BUFFER(codes)
#else
#define NORM_KERNEL rms_norm_simt
#define CODES_ARGUMENT
#endif

__kernel void NORM_KERNEL(BUFFER(x), BUFFER(y), BUFFER(add), BUFFER(weight), BUFFER(bias), const int width,
                            const int x_stride, const int y_stride, const int add_stride, const float unit, const float eps,
                            const float add_scale CODES_ARGUMENT) {
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
#if CODES
  __local float tile[CODE_TILE_ROOM];
  __global uint *codes = PTR(uint, codes) + s * (width / 32) * ACT_WORDS;
  const int columns = CODE_TILE;  // at a time
#else
  const int columns = width;
#endif
  for (int first = 0; first < width; first += columns) {
    for (int i = first + lane; i < min(width, first + columns); i += 64) {
      float v = WITH_BIAS(OF_VALUE(x[i]) * inverse, weight[i] + unit, bias[i]);
#if ROUND_F16
      v = round_f16(v);
#endif
      y[i] = v;
#if CODES
      tile[CODE_AT(i - first)] = v;
#endif
    }
#if CODES
    barrier(CLK_LOCAL_MEM_FENCE);
    make_codes_of_tile(tile, first, width, codes);
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
  }
}
