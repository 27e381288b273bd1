// What a token's experts found, added up: y = one chain sum = fma(weights[i], x[i], sum) over i = 0 .. k-1 from 0 on, then the shared expert's
//   result: fma(sigmoid(gate), shared, sum), or sum + shared without a gate.
//
// Layout: x f32 [S, k, width]; weights f32 [S, k]; shared, y f32 [S, width]; gate f32 at s*gate_stride. Constant SHARED: 0 none, 1 added, 2
//   through its gate.
// Work: a work-group of 16 is a run of `chunk` elements of a row (dimension 0) of one token (dimension 1); its invocations take every 16th.
// Limits: chunk a multiple of 16; on lavapipe at most TANDEM_MAX_SUM_CHUNK of them, and TANDEM_MAX_CHOICES_OF_TOKEN experts.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 16
#include "common.glsl"
#include "quotient.glsl"
#include "exp.glsl"
#include "limits.h"
#include "runs.glsl"
#include "expert_sum.glsl"
