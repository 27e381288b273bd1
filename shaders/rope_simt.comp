// Rotary position embedding, in place (Su et al. 2021, arXiv:2104.09864).
//
//   Rotates a pair (a, b) of head h of token s by the angle of its frequency at positions[s]:
//     a' = fma(a, cos, -(b * sin)),  b' = fma(a, sin, b * cos)
// Layout: x f32 at s*x_stride + h*head_dim + i; pair j is (2j, 2j+1) with INTERLEAVED = 1, else (j, j + rot_dim/2).
//   table f32 [positions, rot_dim/2, 2]: the cosine of pair j at position p is at (p * rot_dim/2 + j) * 2, the sine one
//   after it.
// Work: one invocation per pair of a token. Dimension 0 is head * pairs + pair (rounded up to groups of 64), dimension
//   1 the token.
// Limits: rot_dim is even and <= head_dim; values from rot_dim on do not change.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 64
#include "common.glsl"
#include "rope.glsl"

void main() {
  const int n = int(gl_GlobalInvocationID.x);
  if (n < heads * (rot_dim / 2)) turn(gl_WorkGroupID.y, n);
}
