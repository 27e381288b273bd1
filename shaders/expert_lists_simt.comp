// Builds the lists of tokens by expert (engine/device/operators/expert_lists.h).
//
// Layout: ids int32 [S, k]; lists int32:
//   [0]                       A, the number of experts that have a choice.
//   [1, 1 + A)                these experts, ascending.
//   [1 + E, 1 + E + A + 1)    where each expert's choices begin, and where the last one's end.
//   [2 + 2 E, 2 + 2 E + S k)  the choices.
// Work and limits: expert_lists.glsl. Counting rounds nothing, so both families are the same shader.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "limits.h"
#include "expert_lists.glsl"
