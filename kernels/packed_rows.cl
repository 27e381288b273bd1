// Decodes packed weights that lie in pieces of rows, step by step; the simt kernels of i4 and i8 share it. Other kernels
// include this file; it is never built alone.
//
// Layout: row_piece.cl; scales as in packed_tiles.cl, whose options these are. BITS 4 or 8.
#include "packed_tiles.cl"
#define STEP_COLUMNS (BITS == 4 ? 64 : 32)  // 32 bytes of codes
#define SCALES (STEP_COLUMNS / GROUP)

typedef struct {
  uint4 codes[2];
  float scales[SCALES], lows[SCALES];
} Step;

// Columns k to k + STEP_COLUMNS - 1 of row r of the panel. The second tile of 4-bit codes may lie behind the last column.
INLINE Step load_step(__global const uchar *panel, const int r, const int k, const int K) {
  Step step;
#pragma unroll
  for (int t = 0; t < STEP_COLUMNS / 32; ++t) {
    if (t > 0 && k + 32 * t >= K) break;
    const PackedTile tile = tile_at(panel, k / 32 + t);
#if BITS == 4
    step.codes[t] = row_piece(tile.quants, r);
#else
    step.codes[0] = row_piece(tile.quants, r);
    step.codes[1] = row_piece(tile.quants + 1024, r);
#endif
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) {
      const int entry = g * 64 + r;
      const float scale = scale_of(tile, entry);
      step.scales[t * GROUPS + g] = scale;
#if MIN_KIND == 1
      step.lows[t * GROUPS + g] = -((float)ZERO_POINT * scale);
#elif MIN_KIND == 2
      step.lows[t * GROUPS + g] = minimum_of(tile, entry);
#endif
    }
  }
  return step;
}

// Code j of columns 8 e to 8 e + 7 as a float. The code is put into the last bits of 2^23, which is then subtracted: a
// graphics card converts integers at a quarter of the rate at which it adds. Both steps are exact.
INLINE float code_of_step(const Step step, const int e, const int j) {
#if BITS == 4
  const uint code = word_of(step.codes[e / 4], e % 4) >> 4 * j & 15u;
  return as_float(0x4b000000u | code) - 8388608.0f;
#else
  const uint code = word_of(step.codes[e / 2], e % 2 * 2 + j % 2) >> 8 * (j / 2) & 255u;
  return as_float(0x4b000000u | (code ^ 128u)) - 8388736.0f;  // signed bytes, moved to 0..255
#endif
}

INLINE void decode(const Step step, const int e, float *w) {
  const float scale = step.scales[8 * e / GROUP];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float q = code_of_step(step, e, j);
#if MIN_KIND == 0
    w[j] = q * scale;
#else
    w[j] = fma(q, scale, step.lows[8 * e / GROUP]);
#endif
  }
}
