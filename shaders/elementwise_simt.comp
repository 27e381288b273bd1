// Element-wise operators in place: the residual connection (add_simt), a bias vector
// (bias_simt), a factor (scale_simt), a factor of each expert (expert_scale_simt).
//   scale_simt computes x = factor * x. With a cap above 0 it then computes x = cap * tanh(x / cap), by
//   tanh(u) = 1 - 2 / (1 + exp(2 u)).
// kernels: add_simt bias_simt expert_scale_simt scale_simt
//
// Layout: x f32 at s*x_stride + i; y f32 at s*y_stride + i; bias f32 [width]. With CHOSEN bias is f32 [experts, width] and row
//   s gets that of expert ids[s], unless places[s] is below 0. expert_scale_simt always takes experts: factors f32
//   [experts].
// Work: one invocation per element. Dimension 0 is i in groups of 64, dimension 1 the token. `chunk` is 1.
// Limits: any width.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 64
#include "common.glsl"
#include "quotient.glsl"
#include "exp.glsl"
#include "limits.h"
#include "runs.glsl"
#include "elementwise.glsl"
