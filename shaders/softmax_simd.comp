// Softmax over each row, in place: x = exp(x - max) / sum exp(x - max).
//
// Layout: x f32 at s*x_stride + i.
// Work: one work-group of 16 per row, three passes over it; neighbours take neighbouring elements.
// Order: the sum is that of trees.glsl. exp is exp1 of exp.glsl.
// Limits: any width >= 1, up to TANDEM_MAX_ROW on drivers that count loops. A row in which all values are -inf gives
//   NaN, as the formula does.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 16
#include "common.glsl"
#include "quotient.glsl"
#include "exp.glsl"
#include "limits.h"
#include "trees.glsl"
#include "softmax.glsl"
