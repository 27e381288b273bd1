// Rotary position embedding, in place (Su et al. 2021, arXiv:2104.09864).
//
//   Rotates a pair (a, b) of head h of token s by the angle of its frequency at positions[s]:
//     a' = fma(a, cos, -(b * sin)),  b' = fma(a, sin, b * cos)
// Layout: x f32 at s*x_stride + h*head_dim + i; pair j is (2j, 2j+1) with INTERLEAVED = 1, else (j, j + rot_dim/2).
//   table f32 [positions, rot_dim/2, 2]: the cosine of pair j at position p is at (p * rot_dim/2 + j) * 2, the sine one
//   after it.
// Work: one work-group of 16 per token (dimension 0); its invocations take every 16th pair.
// Limits: rot_dim is even and <= head_dim; values from rot_dim on do not change. On drivers that count loops at most
//   TANDEM_MAX_ROW values of a token rotate.
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
