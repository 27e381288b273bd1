// Who goes to which expert: the lists of engine/device/operators/expert_lists.h.
//
// Layout: ids int32 [S, k]; lists int32: [0] A, [1, 1 + A) the experts that somebody chose, [1 + E, 1 + E + A + 1) where each one's choices
//   begin and the last one's end, [2 + 2 E, 2 + 2 E + S k) the choices.
// Work and limits: expert_lists.glsl. Counting rounds nothing, so both families are the same shader.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "limits.h"
#include "expert_lists.glsl"
