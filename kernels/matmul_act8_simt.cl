// y[s, n] = sum over k of w[n, k] * x[s, k] with codes of activations (act_i8.cl) and packed weights, for GPUs (simt family).
//
// Contract: as in matmul_act8_simd.cl. A work-item has whole chains, so its bits are those of every other device.
// Layout: as in matmul_i4_simt.cl (BITS 4) and matmul_i8_simt.cl (BITS 8), scales as in packed_simt.cl. Rows of x are counted in words.
// Work: dimension 0 is the row, local size 64: a panel. matmul: dimension 1 is a tile of TOKENS tokens of S. grouped (-DGROUPED=1): dimension 1
//   is the slot, dimension 2 the token; the matrix is ids[s*slots + slot], or the slot's (-DHAS_IDS=0).
//   HAS_PACKED_DOT: the device adds four products of bytes at once (cl_khr_integer_dot_product); the sums are the same.
// Limits: K is a multiple of 32 (of 256 with SUPER).
#include "act_i8.cl"
#define GROUPS (32 / GROUP)
#if BITS == 4
#define QUANT_BYTES 1024
#else
#define QUANT_BYTES 2048
#endif
#define SCALE_BYTES (GROUPS * (SUPER ? 64 : 128))
#define HEADER_BYTES (SUPER ? (MIN_KIND == 2 ? 256 : 128) : 0)
#define TILE_BYTES (SCALE_BYTES * (MIN_KIND == 2 ? 2 : 1) + QUANT_BYTES)
#define ZERO (MIN_KIND == 1 ? ZERO_POINT : 0)

INLINE int weight_code(__global const uchar *quants, const int column, const int r) {
#if BITS == 4
  return (quants[column / 2 * 64 + r % 16 * 4 + r / 16] >> (column % 2 * 4) & 15) - ZERO;
#else
  return (int)((__global const char *)quants)[column * 64 + r] - ZERO;
#endif
}
INLINE int act_code(const uint word, const int i) { return (int)(char)(word >> 8 * i & 255u); }

#ifdef HAS_PACKED_DOT
// A code as it is stored: a zero point may take it out of a byte, so it is taken off the whole sum.
INLINE uint weight_byte(__global const uchar *quants, const int column, const int r) {
#if BITS == 4
  return quants[column / 2 * 64 + r % 16 * 4 + r / 16] >> (column % 2 * 4) & 15u;
#else
  return quants[column * 64 + r];
#endif
}
#endif

// Takes in all of K for T tokens, x_stride words apart.
INLINE void take_in(float acc[TOKENS], __global const uchar *panel, const int r, const int K, __global const uint *x, const int x_stride,
                    const int tokens) {
  for (int tile = 0; tile < K / 32; ++tile, x += ACT_WORDS) {
    __global const uchar *header = SUPER ? panel + (size_t)(tile / 8) * (HEADER_BYTES + 8 * TILE_BYTES) : panel;
    __global const uchar *at = SUPER ? header + HEADER_BYTES + (tile % 8) * TILE_BYTES : panel + (size_t)tile * TILE_BYTES;
    __global const uchar *quants = at + SCALE_BYTES * (MIN_KIND == 2 ? 2 : 1);
    for (int g = 0; g < GROUPS; ++g) {
      const int entry = g * 64 + r;
      float scale, low = 0.0f;
      if (SUPER) {
        scale = vload_half(r, (__global const half *)header) * (float)((__global const char *)at)[entry];
        if (MIN_KIND == 2) low = -(vload_half(64 + r, (__global const half *)header) * (float)(at + SCALE_BYTES)[entry]);
      } else {
        scale = vload_half(entry, (__global const half *)at);
        if (MIN_KIND == 2) low = vload_half(entry, (__global const half *)(at + SCALE_BYTES));
      }
      int sum[TOKENS] = {0};
      for (int word = g * 8 / GROUPS; word < (g + 1) * 8 / GROUPS; ++word) {
#ifdef HAS_PACKED_DOT
        uint four = 0;
        for (int i = 0; i < 4; ++i) four |= weight_byte(quants, word / 2 * 8 + 2 * i + word % 2, r) << 8 * i;
        for (int t = 0; t < tokens; ++t) sum[t] += dot_4x8packed_ss_int(four, x[(long)t * x_stride + word]);
#else
        for (int i = 0; i < 4; ++i) {
          const int code = weight_code(quants, word / 2 * 8 + 2 * i + word % 2, r);
          for (int t = 0; t < tokens; ++t) sum[t] += code * act_code(x[(long)t * x_stride + word], i);
        }
#endif
      }
      for (int t = 0; t < tokens; ++t) {
        __global const uint *of = x + (long)t * x_stride;
        const float of_x = as_float(of[ACT_SCALE]);
        const int codes = GROUPS == 1 ? (int)of[ACT_SUMS] + (int)of[ACT_SUMS + 1] : (int)of[ACT_SUMS + g];
#ifdef HAS_PACKED_DOT
        sum[t] -= ZERO * codes;
#endif
        acc[t] = fma((float)sum[t], scale * of_x, acc[t]);
        if (MIN_KIND == 2) acc[t] = fma(low, of_x * (float)codes, acc[t]);
      }
    }
  }
}

#ifdef GROUPED
#include "grouped_few.cl"
__kernel void grouped_few(GROUPED_FEW_ARGUMENTS) {
  const int row = get_global_id(0), tokens = 1;
  const long slot = get_global_id(1), s = get_global_id(2), matrix = MATRIX_OF(s, slot);
#else
__kernel void matmul_gemm(BUFFER(w), BUFFER(x), BUFFER(y), const ulong panel_bytes, const int K, const int row_begin,
                          const int row_end, const int x_stride, const int y_stride, const int S) {
  const int row = row_begin + (int)get_global_id(0), first = (int)get_global_id(1) * TOKENS, tokens = min(TOKENS, S - first);
#define PANELS AT(const uchar, w)
#define FIRST_X (AT(const float, x) + (long)first * x_stride)
#define FIRST_Y (AT(float, y) + (long)first * y_stride)
#endif
  if (row >= row_end) return;
  float acc[TOKENS] = {0};
  take_in(acc, PANELS + (row / 64) * panel_bytes, row % 64, K, (__global const uint *)(FIRST_X), x_stride, tokens);
  for (int t = 0; t < tokens; ++t) (FIRST_Y)[(long)t * y_stride + row] = acc[t];
}
