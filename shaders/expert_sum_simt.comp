// Adds up the weighted results of a token's experts: y is one chain sum = fma(weights[i], x[i], sum) over i = 0 .. k-1.
//   The chain begins at sum = 0.
//   The shared expert's result follows: fma(sigmoid(gate), shared, sum), or sum + shared without a gate.
//
// Layout: x f32 [S, k, width]; weights f32 [S, k]; shared, y f32 [S, width]; gate f32 at s*gate_stride. Constant SHARED
//   is 0 for no shared expert, 1 to add its result, 2 to scale it by its gate.
// Work: one invocation per element. Dimension 0 is the column in groups of 64, dimension 1 the token. `chunk` is 1.
// Limits: any width; on lavapipe at most TANDEM_MAX_CHOICES_OF_TOKEN experts.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 64
#include "common.glsl"
#include "quotient.glsl"
#include "exp.glsl"
#include "limits.h"
#include "runs.glsl"
#include "expert_sum.glsl"
