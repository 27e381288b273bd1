// Finds the index of the largest value of each row; among equal values, the lowest index.
//
// Layout: x f32 at s*x_stride + i; ids int32 [S].
// Work: one work-group of 16 per row. Each invocation keeps the first index of its largest value. Atomics in shared
//   memory then find the largest value of all, and the lowest index among the invocations that hold it.
// Limits: any width >= 1; up to TANDEM_MAX_ROW on drivers that count loops. NaN is never the largest; a row of NaN
//   gives 0.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 16
#include "common.glsl"
#include "limits.h"
#include "sort_key.glsl"
#include "argmax.glsl"
