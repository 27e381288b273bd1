// Rotary position embedding, in place (Su et al. 2021, arXiv:2104.09864).
//
//   Rotates a pair (a, b) of head h of token s by the angle of its frequency at positions[s]:
//     a' = fma(a, cos, -(b * sin)),  b' = fma(a, sin, b * cos)
// Layout: x f32 at s*x_stride + h*head_dim + i; pair j is (2j, 2j+1) with -DINTERLEAVED=1, else (j, j + rot_dim/2).
//   table f32 [positions, rot_dim/2, 2]: the cosine of pair j at position p is at (p * rot_dim/2 + j) * 2, the sine one
//   after it.
// Work: one work-item per pair of a token. Dimension 0 is head * pairs + pair (rounded up to groups of 64), dimension 1
//   the token.
// Limits: rot_dim is even and <= head_dim; values from rot_dim on do not change.
#ifndef INTERLEAVED
#define INTERLEAVED 0
#endif

__kernel void rope_simt(BUFFER(x), BUFFER(positions), BUFFER(table), const int heads, const int head_dim,
                        const int rot_dim, const int x_stride) {
  const int pairs = rot_dim / 2, n = get_global_id(0);
  const size_t s = get_global_id(1);
  if (n >= heads * pairs) return;
  const int h = n / pairs, j = n % pairs;
  __global const float *turn = PTR(const float, table) + (size_t)PTR(const int, positions)[s] * rot_dim + 2 * j;
  __global float *x = PTR(float, x) + s * x_stride + (size_t)h * head_dim;
  const int at = INTERLEAVED ? 2 * j : j, other = INTERLEAVED ? 2 * j + 1 : j + pairs;
  const float a = x[at], b = x[other];
  x[at] = fma(a, turn[0], -(b * turn[1]));
  x[other] = fma(a, turn[1], b * turn[0]);
}
