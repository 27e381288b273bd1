// Rearranges packed weights in the device's own memory to pieces of rows (engine/device/gpu/row_pieces.h).
//
// Work mapping: a group of 64 per block of 1,024 bytes (dimension 0) and panel (dimension 1). Work-item r gathers the
//   piece of row r. All of them have read their block before the first one writes.
// Options: KIND 0 f32, 1 f16, 2 bf16, 3 i4, 4 i8; for codes those of packed_tiles.cl.
#define PIECE 16
#if KIND >= 3
#define QUANT_BYTES (KIND == 3 ? 1024 : 2048)
#include "packed_tiles.cl"
#define BLOCKS (QUANT_BYTES / 1024)  // of a tile
#define BLOCK_AT(panel, block) (tile_at(panel, (block) / BLOCKS).quants + (block) % BLOCKS * 1024)
#else
#define BLOCK_AT(panel, block) ((panel) + (size_t)(block) * 1024)
#endif

// Returns the place of byte `at` of row r's piece in the block's panel order.
INLINE int source_of(const int r, const int at) {
#if KIND == 3
  return at * 64 + r % 16 * 4 + r / 16;
#elif KIND == 4
  const int word = at / 4;
  return (word / 2 * 8 + at % 4 * 2 + word % 2) * 64 + r;
#else
  const int bytes = KIND == 0 ? 4 : 2;
  return (at / bytes * 64 + r) * bytes + at % bytes;
#endif
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void row_pieces(BUFFER(w), const ulong panel_bytes) {
  const int r = get_local_id(0);
  __global uchar *block = (__global uchar *)BLOCK_AT(PTR(const uchar, w) + get_group_id(1) * panel_bytes, (int)get_group_id(0));
  uchar piece[PIECE];
  for (int i = 0; i < PIECE; ++i) piece[i] = block[source_of(r, i)];
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (int i = 0; i < PIECE; ++i) block[r * PIECE + i] = piece[i];
}
