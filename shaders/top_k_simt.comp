// Finds the k largest values of each row and their indices, in falling order; among equal values the lowest index
// comes first.
//
// Layout: x f32 at s*x_stride + i; ids int32 [S, k]; values f32 [S, k].
// Work and limits: top_k.glsl. Comparing rounds nothing, so both families are the same shader.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "limits.h"
#include "sort_key.glsl"
#include "top_k.glsl"
