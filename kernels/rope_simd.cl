// Rotary position embedding, in place (Su et al. 2021, arXiv:2104.09864).
//
//   Rotates a pair (a, b) of head h of token s by the angle of its frequency at positions[s]:
//     a' = fma(a, cos, -(b * sin)),  b' = fma(a, sin, b * cos)
// Layout: x f32 at s*x_stride + h*head_dim + i; pair j is (2j, 2j+1) with -DINTERLEAVED=1, else (j, j + rot_dim/2).
//   table f32 [positions, rot_dim/2, 2]: the cosine of pair j at position p is at (p * rot_dim/2 + j) * 2, the sine one
//   after it.
// Work: one work-item (local size 1) per token. It reads the token's table row once from memory; the row then stays in
//   L1 for all heads.
// Limits: rot_dim is even and <= head_dim; values from rot_dim on do not change.
#ifndef INTERLEAVED
#define INTERLEAVED 0
#endif

__kernel void rope_simd(BUFFER(x), BUFFER(positions), BUFFER(table), const int heads, const int head_dim,
                        const int rot_dim, const int x_stride) {
  const size_t s = get_global_id(0);
  const int pairs = rot_dim / 2;
  __global const float *turns = PTR(const float, table) + (size_t)PTR(const int, positions)[s] * rot_dim;
  for (int h = 0; h < heads; ++h) {
    __global float *x = PTR(float, x) + s * x_stride + (size_t)h * head_dim;
    int j = 0;
#if INTERLEAVED
    for (; j + 8 <= pairs; j += 8) {
      const float16 v = vload16(0, x + 2 * j), turn = vload16(0, turns + 2 * j);
      float16 out;
      out.even = fma(v.even, turn.even, -(v.odd * turn.odd));
      out.odd = fma(v.even, turn.odd, v.odd * turn.even);
      STORE16(__global, out, x + 2 * j);
    }
#else
    for (; j + 16 <= pairs; j += 16) {
      const float16 first = vload16(0, turns + 2 * j), second = vload16(0, turns + 2 * j + 16);
      const float16 cosine = (float16)(first.even, second.even), sine = (float16)(first.odd, second.odd);
      const float16 a = vload16(0, x + j), b = vload16(0, x + j + pairs);
      STORE16(__global, fma(a, cosine, -(b * sine)), x + j);
      STORE16(__global, fma(a, sine, b * cosine), x + j + pairs);
    }
#endif
    for (; j < pairs; ++j) {
      const int at = INTERLEAVED ? 2 * j : j, other = INTERLEAVED ? 2 * j + 1 : j + pairs;
      const float a = x[at], b = x[other], cosine = turns[2 * j], sine = turns[2 * j + 1];
      x[at] = fma(a, cosine, -(b * sine));
      x[other] = fma(a, sine, b * cosine);
    }
  }
}
