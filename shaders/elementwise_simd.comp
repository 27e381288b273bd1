// Element-wise operators in place: the residual connection (add_simd), a bias vector
// (bias_simd), a factor (scale_simd), a factor of each expert (expert_scale_simd).
//   scale_simd computes x = factor * x. With a cap above 0 it then computes x = cap * tanh(x / cap), by
//   tanh(u) = 1 - 2 / (1 + exp(2 u)).
// kernels: add_simd bias_simd expert_scale_simd scale_simd
//
// Layout: x f32 at s*x_stride + i; y f32 at s*y_stride + i; bias f32 [width]. With CHOSEN bias is f32 [experts, width] and row
//   s gets that of expert ids[s], unless places[s] is below 0. expert_scale_simd always takes experts: factors f32
//   [experts].
// Work: a work-group of 16 is a run of `chunk` elements of a row (dimension 0) of one token (dimension 1). Its
//   invocations take every 16th element.
// Limits: chunk is a multiple of 16, on lavapipe at most TANDEM_MAX_CHUNK.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 16
#include "common.glsl"
#include "quotient.glsl"
#include "exp.glsl"
#include "limits.h"
#include "runs.glsl"
#include "elementwise.glsl"
