// Root-mean-square norm over the last axis, with the residual addition in front of it (Zhang and Sennrich
// 2019, arXiv:1910.07467).
// kernels: rms_norm_simt rms_norm_codes_simt
//
//   v = x[s, g, :] (+ add_scale * add[s, g, :] by fma, written back to x);
//   y = v * (1 / sqrt(mean(v^2) + eps)) * (weight + unit).
// CENTRED = 1 uses v - mean(v) in place of v (LayerNorm: Ba et al. 2016, arXiv:1607.06450). HAS_BIAS = 1 adds a bias,
// by fma with the last product.
// Layout: x, y, add f32 at s*stride + g*width + i; weight, bias f32 [width].
// Work: one work-group of 64 per token (dimension 0) and group (dimension 1); neighbours take neighbouring elements.
// Order: trees.glsl. Squares are summed by fma, values (for the mean) by addition.
// Limits: any width >= 1, up to TANDEM_MAX_ROW on drivers that count loops; y may be x. HAS_ADD = 1 reads add.
//   ROUND_F16 = 1 rounds y, but never the residual stream x.
// rms_norm_codes_simt writes the codes of y too (act_i8.glsl). It has one group, and a width of whole groups of codes.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 64
#include "common.glsl"
#include "limits.h"
#include "trees.glsl"
#include "quotient.glsl"
#ifdef KERNEL_rms_norm_codes_simt
#define CODES
#include "act_i8.glsl"
#include "code_tile.glsl"
#endif
#include "rms_norm.glsl"
#ifdef CODES
#include "make_codes.glsl"
#endif
