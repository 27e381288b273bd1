// y[s, g, :] = x[s, g, :]: groups of values that lie together in rows of x and of y. ROUND_F16 rounds them.
//   IN_PLACE: where they stand, in y.
//
// Layout: x f32 at s*x_stride + g*x_group + i; y f32 at s*y_stride + g*y_group + i.
// Work: one invocation per element: dimension 0 is i in groups of 64, dimension 1 the token, dimension 2 the group. `chunk` is 1.
// Limits: any width; x and y do not meet.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 64
#include "common.glsl"
#include "limits.h"
#include "runs.glsl"
#include "copy.glsl"
