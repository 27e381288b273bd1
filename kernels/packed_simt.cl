// Decoding packed weights column by column: the part that the simt kernels of i4 and i8 share. Not a source of its own; included.
//
// Layout (packed/format.h): a panel is 64 rows. SUPER == 0: tile = [half scale[G][64]] [half min[G][64] if explicit] [quants];
//   SUPER == 1: 8 tiles behind a header [half d[64]] [half dmin[64] if explicit], tile = [int8 sc[G][64]] [uint8 m[G][64]] [quants];
//   G = 32 / GROUP. Options: GROUP 32|16, SUPER 0|1, MIN_KIND 0 none, 1 zero point, 2 explicit, ZERO_POINT; from the including file:
//   QUANT_BYTES of one tile and QUANT(quants, column, r). Neighbouring work-items take neighbouring rows: every load is coalesced.
#define GROUPS (32 / GROUP)
#if SUPER
#define SCALE_BYTES (GROUPS * 64)
#define HEADER_BYTES (MIN_KIND == 2 ? 256 : 128)
#define TILES 8  // behind one header
#else
#define SCALE_BYTES (GROUPS * 128)
#define HEADER_BYTES 0
#define TILES 1
#endif
#define TILE_BYTES (SCALE_BYTES * (MIN_KIND == 2 ? 2 : 1) + QUANT_BYTES)

// Row r of the panel, columns k .. k+7 (k a multiple of 8, so they share a scale).
INLINE void load_columns(__global const uchar *panel, const int r, const int k, const int K, float *w) {
  const int tile = k / 32, column = k % 32, entry = column / GROUP * 64 + r;
  __global const uchar *header = panel + (size_t)(tile / TILES) * (HEADER_BYTES + TILES * TILE_BYTES);
  __global const uchar *at = header + HEADER_BYTES + (tile % TILES) * TILE_BYTES;
  __global const uchar *quants = at + SCALE_BYTES * (MIN_KIND == 2 ? 2 : 1);
#if SUPER
  const float scale = vload_half(r, (__global const half *)header) * (float)((__global const char *)at)[entry];
#if MIN_KIND == 2
  const float low = -(vload_half(64 + r, (__global const half *)header) * (float)at[SCALE_BYTES + entry]);
#endif
#else
  const float scale = vload_half(entry, (__global const half *)at);
#if MIN_KIND == 2
  const float low = vload_half(entry, (__global const half *)(at + SCALE_BYTES));
#endif
#endif
#if MIN_KIND == 1
  const float low = -((float)ZERO_POINT * scale);
#endif
  for (int j = 0; j < 8; ++j) {
    const float q = (float)QUANT(quants, column + j, r);
#if MIN_KIND == 0
    w[j] = q * scale;
#else
    w[j] = fma(q, scale, low);
#endif
  }
}
