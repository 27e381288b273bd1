// y[s, g, :] = x[s, g, :]: groups of values that lie together in rows of x and of y. ROUND_F16 rounds them.
//   IN_PLACE: where they stand, in y.
//
// Layout: x f32 at s*x_stride + g*x_group + i; y f32 at s*y_stride + g*y_group + i.
// Work: a work-group of 16 is a run of `chunk` elements of a group (dimension 0) of one token (dimension 1); its invocations take every 16th.
//   Dimension 2 is the group.
// Limits: chunk a multiple of 16; on lavapipe at most TANDEM_MAX_CHUNK of them; x and y do not meet.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 16
#include "common.glsl"
#include "limits.h"
#include "runs.glsl"
#include "copy.glsl"
