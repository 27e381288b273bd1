// Rotary position embedding, in place (Su et al. 2021, arXiv:2104.09864).
//
//   A pair (a, b) of head h of token s turns by the angle of its frequency at positions[s]:
//     a' = fma(a, cos, -(b * sin)),  b' = fma(a, sin, b * cos)
// Layout: x f32 at s*x_stride + h*head_dim + i; pair j is (2j, 2j+1) with INTERLEAVED = 1, else (j, j + rot_dim/2).
//   table f32 [positions, rot_dim/2, 2]: cos and sin of pair j at position p are at (p * rot_dim/2 + j) * 2 and one after it.
// Work: one work-group of 16 per token (dimension 0); its invocations take every 16th pair.
// Limits: rot_dim even, <= head_dim; values beyond rot_dim stay as they are; where the driver counts loops, TANDEM_MAX_ROW values of a token turn.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 16
#include "common.glsl"
#include "limits.h"
#include "rope.glsl"

void main() {
  // trips <= TANDEM_MAX_ROW / 2 / LANES
  for (int n = int(gl_LocalInvocationID.x); n < heads * (rot_dim / 2); n += LANES) turn(gl_WorkGroupID.x, n);
}
