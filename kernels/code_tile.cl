// Makes codes of values that the 64 work-items of a group have put into local memory. Other kernels include this file
// after act_i8.cl; it is never built alone.
//
// Layout: a tile has 64 groups of 32 columns, and column c of the tile is float CODE_AT(c). Each group has a float more,
//   so that the groups of neighbouring work-items begin in different banks.
#define CODE_TILE 2048
#define CODE_AT(column) ((column) / 32 * 33 + (column) % 32)
#define CODE_TILE_ROOM (64 * 33)
MAKE_CODES(__local)

// The tile that begins with column `first` of a row of `width`; `codes` are the row's. A work-item makes one group.
INLINE void make_codes_of_tile(__local const float *tile, const int first, const int width, __global uint *codes) {
  const int lane = get_local_id(0), group = first / 32 + lane;
  if (group < width / 32) make_codes(tile + lane * 33, codes + group * ACT_WORDS);
}
