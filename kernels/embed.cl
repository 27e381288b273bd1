// The embedding lookup, y[s, :] = scale * decoded w[ids[s], :]. One source serves both families and every
// packed format.
//
// Layout: w as in packed/format.h; y f32 [S, H] dense; ids int32 [S].
// Options: ROW_PIECES is that of row_piece.cl, BOOK that of code_book.cl. KIND is 0 f32, 1 f16, 2 bf16, 3 i4, 4 i8. GROUP,
//   SUPER, MIN_KIND and ZERO_POINT are those of packed_simd.cl.
// Work mapping: work-item (i, s) decodes `columns` columns of token s, from column i * columns on: 64 columns on a CPU
//   device, 1 on a GPU.
// Limits: w holds rows row_begin .. row_end of a table of `vocabulary` rows. Other launches write the tokens whose id
//   lies outside these rows. An id outside the vocabulary gives a row of NaN and reads nothing; the launch that holds
//   row 0 writes it.
#if KIND >= 3
#define QUANT_BYTES (KIND == 3 ? 1024 : 2048)
#define GROUPS (32 / GROUP)
#define ENTRY_BYTES (SUPER ? 1 : 2)
#define SCALE_STEP (SUPER == 2 ? 0.125f : 1.0f)
#define SCALE_BYTES (GROUPS * 64 * ENTRY_BYTES)
#define HEADER_BYTES (SUPER ? (MIN_KIND == 2 ? 256 : 128) : 0)
#define TILES (SUPER ? 8 : 1)  // tiles behind one header
#define TILE_BYTES (SCALE_BYTES * (MIN_KIND == 2 ? 2 : 1) + QUANT_BYTES)
#endif

#include "code_book.cl"
#include "row_piece.cl"

INLINE float element(__global const uchar *panel, int r, int k) {
#if KIND < 3
  const size_t index = ELEMENT_INDEX(k, r, KIND == 0 ? 4 : 8);
#endif
#if KIND == 0
  return ((__global const float *)panel)[index];
#elif KIND == 1
  return vload_half(index, (__global const half *)panel);
#elif KIND == 2
  return as_float((uint)((__global const ushort *)panel)[index] << 16);
#else
  const int tile = k / 32, column = k % 32, entry = column / GROUP * 64 + r;
  __global const uchar *header = panel + (size_t)(tile / TILES) * (HEADER_BYTES + TILES * TILE_BYTES);
  __global const uchar *at = header + HEADER_BYTES + (tile % TILES) * TILE_BYTES;
  __global const uchar *quants = at + SCALE_BYTES * (MIN_KIND == 2 ? 2 : 1);
#if KIND == 3
  const float q = (float)number_of(quants[NIBBLE_BYTE(column, r)] >> column % 2 * 4 & 15u);
#else
  const float q = (float)((__global const char *)quants)[CODE_BYTE(column, r)];
#endif
#if SUPER
  const float scale = vload_half(r, (__global const half *)header) * ((float)((__global const char *)at)[entry] * SCALE_STEP);
#else
  const float scale = vload_half(entry, (__global const half *)at);
#endif
#if MIN_KIND == 0
  return q * scale;
#elif MIN_KIND == 1
  return fma(q, scale, -((float)ZERO_POINT * scale));
#elif SUPER
  return fma(q, scale, -(vload_half(64 + r, (__global const half *)header) * (float)at[SCALE_BYTES + entry]));
#else
  return fma(q, scale, vload_half(entry, (__global const half *)(at + SCALE_BYTES)));
#endif
#endif
}

__kernel void embed(BUFFER(w), BUFFER(ids), BUFFER(y), const ulong panel_bytes, const int vocabulary, const int row_begin,
                    const int row_end, const int H, const int columns, const float scale) {
  const int s = get_global_id(1), begin = (int)get_global_id(0) * columns, end = min(begin + columns, H);
  const int id = PTR(const int, ids)[s];
  __global float *y = PTR(float, y) + (long)s * H;
  if (id >= row_begin && id < row_end) {
    const int row = id - row_begin;
    __global const uchar *panel = PTR(const uchar, w) + (row / 64) * panel_bytes;
    for (int k = begin; k < end; ++k) y[k] = element(panel, row % 64, k) * scale;
  } else if (row_begin == 0 && (id < 0 || id >= vocabulary)) {
    for (int k = begin; k < end; ++k) y[k] = NAN;
  }
}
