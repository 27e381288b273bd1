// The products of matmul_act8_simt.cl with many tokens, on the matrix units of NVIDIA's cards. matmul_act8_simt.cl
// includes this file where the device has proven them; it is never built alone.
//
// Contract: as in matmul_act8_simt.cl. One instruction multiplies 16 rows with 8 tokens over a group of 32 columns. Its
//   sums of bytes are whole numbers, so they are those of every other device; all else follows in their order.
// Layout: weights in pieces of rows (row_piece.cl), with one scale for 32 columns. Words of a row and of a token lie in the
//   order of ActBlock, the same for both, so that each product has its own column.
// Work mapping: a group of 128, four warps, per 64 rows (dimension 0) and 64 tokens (dimension 1). Warp (wm, wn) of 2 x 2
//   has 32 rows and 32 tokens, as FM x FN fragments of 16 x 8. In a fragment, lane 4 i + j has rows i and i + 8, and tokens
//   2 j and 2 j + 1. A stage is a tile of a run, 64 columns: the group loads the next one into registers while it
//   multiplies. Tiles behind the last one and tokens that are not there are zeros.
// Option MATRIX_UNITS: 1 the instruction; 2 the same by plain C through local memory, for tests on a processor.
// Limits: groups of 128. Local memory: 15 KiB (16 grouped). K is a multiple of 32.
#define FM 2
#define FN 4
#define SUMS (FM * FN * 4)  // of a work-item
#define PLACE(m, n) (((m) * FN + (n)) * 4)
#define WARPS 4
#define STAGE_GROUPS 2
#define PITCH 24  // words of a row and stage in local memory: 16, and 8 so that four rows lie in different banks
#define ROW_PIECES_OF_GROUP (BITS / 4)
#define WEIGHT_PIECES (STAGE_GROUPS * ROW_PIECES_OF_GROUP * 64 / 128)  // of a work-item and stage
#define TOKEN_PIECES (STAGE_GROUPS * 3 * 64 / 128)

// A whole number of less than 2^22, added to these bits, is a float of 1.5 * 2^23 and that number. So sums need no
// conversion, which cards do at a quarter of the rate of additions.
#define SUM_BITS 0x4b400000
#define SUM_BASE 12582912.0f

#if MATRIX_UNITS == 1
// d = bits of the sums of a's rows and b's tokens, from the bits of `from` on: one for each of the lane's two tokens.
#define MULTIPLY(d, a, b, from, scratch)                                                                               \
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%10,%11};"         \
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                                                 \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(from[0]), "r"(from[1]))
#else
// The lanes of a warp exchange their words through `scratch`, 6 words for each.
INLINE void multiply(int *d, const uint *a, const uint *b, const int *from, __local uint *scratch) {
  const int lane = get_local_id(0) % 32;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < 4; ++i) scratch[lane * 6 + i] = a[i];
  for (int i = 0; i < 2; ++i) scratch[lane * 6 + 4 + i] = b[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < 4; ++i) {
    const int token = lane % 4 * 2 + i % 2;
    d[i] = from[i % 2];
    for (int j = 0; j < 4; ++j) {
      __local const uint *row = scratch + (lane / 4 * 4 + j) * 6, *column = scratch + (token * 4 + j) * 6;
      d[i] += DOT(row[i / 2], column[4]) + DOT(row[i / 2 + 2], column[5]);
    }
  }
}
#define MULTIPLY(d, a, b, from, scratch) multiply(d, a, b, from, scratch)
#endif

#include "many_tokens.cl"

GEMM_KERNEL(__attribute__((reqd_work_group_size(128, 1, 1)))) {
  FIND_TILE
  __local uint4 weight_vectors[64 * PITCH / 4], token_vectors[64 * PITCH / 4];
  __local float scales[STAGE_GROUPS * 64], lows[STAGE_GROUPS * 64], token_scales[STAGE_GROUPS * 64];
  __local int token_sums[STAGE_GROUPS * 64];
#if MATRIX_UNITS == 2
  __local uint exchanged[WARPS * 32 * 6];
  __local uint *scratch = exchanged + get_local_id(0) / 32 * 32 * 6;
#endif
  __local uint *weight_words_of = (__local uint *)weight_vectors, *token_words_of = (__local uint *)token_vectors;
  const int id = get_local_id(0), lane = id % 32, wm = id / 32 % 2, wn = id / 64, lr = lane / 4, lc = lane % 4;
  __global const uchar *panel = PANELS + (first_row / 64) * panel_bytes;
  __global const uint4 *x = (__global const uint4 *)PTR(const uint, x);
  const int tiles = K / 32;
  // Sum PLACE(m, n) + i is that of result i in fragment (m, n).
  float total[SUMS], acc[SUMS];
#pragma unroll
  for (int i = 0; i < SUMS; ++i) total[i] = acc[i] = 0.0f;
  // The next stage, on its way. Work-item id has the scale of row id % 64 in group id / 64.
  uint4 weights[WEIGHT_PIECES], tokens[TOKEN_PIECES];
  float scale = 0.0f, low = 0.0f;
  int run = 0;
  for (int tile = -STAGE_GROUPS; tile < tiles; tile += STAGE_GROUPS) {
    if (tile >= 0) {
      barrier(CLK_LOCAL_MEM_FENCE);  // the last stage has been multiplied
#pragma unroll
      for (int i = 0; i < WEIGHT_PIECES; ++i) {
        const int o = id + i * 128, r = o % 64, piece = o / 64 % ROW_PIECES_OF_GROUP, group = o / 64 / ROW_PIECES_OF_GROUP;
        __local uint4 *to = weight_vectors + (r * PITCH + group * 8) / 4;
#if BITS == 4
        to[0] = (uint4)(words_of_codes(weights[i].x), words_of_codes(weights[i].y));
        to[1] = (uint4)(words_of_codes(weights[i].z), words_of_codes(weights[i].w));
#else
        to[piece] = weights[i];
#endif
      }
#pragma unroll
      for (int i = 0; i < TOKEN_PIECES; ++i) {
        const int o = id + i * 128, token = o / 6, part = o % 6, group = part / 3;
        if (part % 3 < 2) {
          token_vectors[(token * PITCH + group * 8) / 4 + part % 3] = tokens[i];
        } else {
          token_scales[group * 64 + token] = as_float(tokens[i].x);
          token_sums[group * 64 + token] = (int)tokens[i].y + (int)tokens[i].z;
        }
      }
      scales[id] = scale;
      lows[id] = low;
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    const int next = tile + STAGE_GROUPS;
    if (next < tiles) {
#pragma unroll
      for (int i = 0; i < WEIGHT_PIECES; ++i) {
        const int o = id + i * 128, r = o % 64, piece = o / 64 % ROW_PIECES_OF_GROUP, group = o / 64 / ROW_PIECES_OF_GROUP;
        weights[i] = next + group < tiles ? row_piece(tile_at(panel, next + group).quants + piece * 1024, r) : (uint4)(0);
      }
#pragma unroll
      for (int i = 0; i < TOKEN_PIECES; ++i) {
        const int o = id + i * 128, token = first_token + o / 6, part = o % 6;
        tokens[i] = token < S && next + part / 3 < tiles ? x[(X_ROW(token)) / 4 + next * 3 + part] : (uint4)(0);
      }
      if (next + id / 64 < tiles) {
        const PackedTile own = tile_at(panel, next + id / 64);
        scale = scale_of(own, id % 64);
#if MIN_KIND == 2
        low = minimum_of(own, id % 64);
#endif
      }
    }
    if (tile < 0) continue;
    const int current = run_of(K, tile * 32);
    if (current != run) end_run(total, acc, SUMS);
    run = current;
#pragma unroll
    for (int g = 0; g < STAGE_GROUPS; ++g) {
      if (tile + g >= tiles) break;
      uint b[FN][2];
      float of_x[FN][2];
      int codes[FN][2];
#pragma unroll
      for (int n = 0; n < FN; ++n) {
        const int first = wn * 32 + n * 8, token = first + lc * 2;
        const uint2 words = ((__local const uint2 *)token_words_of)[((first + lr) * PITCH + g * 8) / 2 + lc];
        b[n][0] = words.x;
        b[n][1] = words.y;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          of_x[n][i] = token_scales[g * 64 + token + i];
          codes[n][i] = token_sums[g * 64 + token + i];
        }
      }
#pragma unroll
      for (int m = 0; m < FM; ++m) {
        const int row = wm * 32 + m * 16 + lr;
        const uint2 upper = ((__local const uint2 *)weight_words_of)[(row * PITCH + g * 8) / 2 + lc];
        const uint2 lower = ((__local const uint2 *)weight_words_of)[((row + 8) * PITCH + g * 8) / 2 + lc];
        const uint a[4] = {upper.x, lower.x, upper.y, lower.y};
        const float row_scales[2] = {scales[g * 64 + row], scales[g * 64 + row + 8]};
        const float row_lows[2] = {lows[g * 64 + row], lows[g * 64 + row + 8]};
#pragma unroll
        for (int n = 0; n < FN; ++n) {
          const int from[2] = {SUM_BITS - ZERO * codes[n][0], SUM_BITS - ZERO * codes[n][1]};
          int d[4];
          MULTIPLY(d, a, b[n], from, scratch);
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const float sum = as_float(d[i]) - SUM_BASE;
            float *at = acc + PLACE(m, n) + i;
            *at = add_group(*at, sum, row_scales[i / 2], row_lows[i / 2], of_x[n][i % 2], codes[n][i % 2]);
          }
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < SUMS; ++i) {
    const int m = i / 4 / FN, n = i / 4 % FN;
    const int token = first_token + wn * 32 + n * 8 + lc * 2 + i % 2, row = first_row + wm * 32 + m * 16 + lr + i % 4 / 2 * 8;
    if (token < S && row < row_end) PTR(float, y)[Y_ROW(token) + row] = total[i] + acc[i];
  }
}
