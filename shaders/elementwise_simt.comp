// Element by element additions in place: the residual connection (add_simt) and a bias vector (bias_simt).
// kernels: add_simt bias_simt
//
// Layout: x f32 at s*x_stride + i; y f32 at s*y_stride + i; bias f32 [width].
// Work: one invocation per element: dimension 0 is i in groups of 64, dimension 1 the token. `chunk` is 1.
// Limits: any width.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 64
#include "common.glsl"
#include "limits.h"
#include "runs.glsl"
#include "elementwise.glsl"
