// Finds the tiles of a packed panel and the scales of a row there; simt kernels of f32 and of 8-bit activations share
// it. Other kernels include this file; it is never built alone.
//
// Layout (packed/format.h): a panel is 64 rows, and G = 32 / GROUP.
//   SUPER == 0: tile = [half scale[G][64]] [half min[G][64] if explicit] [quants].
//   SUPER == 1: 8 tiles behind a header [half d[64]] [half dmin[64] if explicit]; tile = [int8 sc[G][64]] [uint8
//   m[G][64]] [quants]. SUPER == 2: the same, and scales are eighths of d * sc.
//   Entry g * 64 + r of the scales belongs to row r and group g. Neighbouring work-items take neighbouring rows, so
//   every load is coalesced.
// Options: GROUP 32|16, SUPER 0|1|2, MIN_KIND 0 none, 1 zero point, 2 explicit; ZERO_POINT. The including file defines
//   QUANT_BYTES of one tile.
#define SCALE_STEP (SUPER == 2 ? 0.125f : 1.0f)
#define GROUPS (32 / GROUP)
#if SUPER
#define SCALE_BYTES (GROUPS * 64)
#define HEADER_BYTES (MIN_KIND == 2 ? 256 : 128)
#define TILES 8  // tiles behind one header
#else
#define SCALE_BYTES (GROUPS * 128)
#define HEADER_BYTES 0
#define TILES 1
#endif
#define TILE_BYTES (SCALE_BYTES * (MIN_KIND == 2 ? 2 : 1) + QUANT_BYTES)

typedef struct {
  __global const uchar *header, *scales, *quants;
} PackedTile;

INLINE PackedTile tile_at(__global const uchar *panel, const int tile) {
  PackedTile at;
  at.header = panel + (size_t)(tile / TILES) * (HEADER_BYTES + TILES * TILE_BYTES);
  at.scales = at.header + HEADER_BYTES + (tile % TILES) * TILE_BYTES;
  at.quants = at.scales + SCALE_BYTES * (MIN_KIND == 2 ? 2 : 1);
  return at;
}

INLINE float scale_of(const PackedTile tile, const int entry) {
#if SUPER
  return vload_half(entry % 64, (__global const half *)tile.header) * ((float)((__global const char *)tile.scales)[entry] * SCALE_STEP);
#else
  return vload_half(entry, (__global const half *)tile.scales);
#endif
}

// The number that fma adds to a decoded value, or for a group of codes; only with MIN_KIND 2.
INLINE float minimum_of(const PackedTile tile, const int entry) {
#if SUPER
  return -(vload_half(64 + entry % 64, (__global const half *)tile.header) * (float)(tile.scales + SCALE_BYTES)[entry]);
#else
  return vload_half(entry, (__global const half *)(tile.scales + SCALE_BYTES));
#endif
}
