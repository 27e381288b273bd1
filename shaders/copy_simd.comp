// Copies groups of values, y[s, g, :] = x[s, g, :]; the values of a group are contiguous in rows of x and of y.
//   ROUND_F16 rounds them to f16. IN_PLACE reads them from y itself.
//
// Layout: x f32 at s*x_stride + g*x_group + i; y f32 at s*y_stride + g*y_group + i.
// Work: a work-group of 16 is a run of `chunk` elements of a group (dimension 0) of one token (dimension 1). Its
//   invocations take every 16th element. Dimension 2 is the group.
// Limits: chunk is a multiple of 16, on lavapipe at most TANDEM_MAX_CHUNK; x and y do not overlap.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 16
#include "common.glsl"
#include "limits.h"
#include "runs.glsl"
#include "copy.glsl"
