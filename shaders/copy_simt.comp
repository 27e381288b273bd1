// Copies groups of values, y[s, g, :] = x[s, g, :]; the values of a group are contiguous in rows of x and of y.
//   ROUND_F16 rounds them to f16. IN_PLACE reads them from y itself.
//
// Layout: x f32 at s*x_stride + g*x_group + i; y f32 at s*y_stride + g*y_group + i.
// Work: one invocation per element. Dimension 0 is i in groups of 64, dimension 1 the token, dimension 2 the group.
//   `chunk` is 1.
// Limits: any width; x and y do not overlap.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 64
#include "common.glsl"
#include "limits.h"
#include "runs.glsl"
#include "copy.glsl"
