// Adds up the weighted results of a token's experts: y is one chain sum = fma(weights[i], x[i], sum) over i = 0 .. k-1.
//   The chain begins at sum = 0.
//   The shared expert's result follows: fma(sigmoid(gate), shared, sum), or sum + shared without a gate.
//
// Layout: x f32 [S, k, width]; weights f32 [S, k]; shared, y f32 [S, width]; gate f32 at s*gate_stride. Constant SHARED
//   is 0 for no shared expert, 1 to add its result, 2 to scale it by its gate.
// Work: a work-group of 16 is a run of `chunk` elements of a row (dimension 0) of one token (dimension 1). Its
//   invocations take every 16th element.
// Limits: chunk is a multiple of 16. On lavapipe it is at most TANDEM_MAX_SUM_CHUNK, and a token has at most
//   TANDEM_MAX_CHOICES_OF_TOKEN experts.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 16
#include "common.glsl"
#include "quotient.glsl"
#include "exp.glsl"
#include "limits.h"
#include "runs.glsl"
#include "expert_sum.glsl"
