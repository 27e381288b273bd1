// Reads weights that lie in pieces of rows (engine/device/gpu/row_pieces.h). The simt kernels include this file; it is
// never built alone.
//
// Layout: a block of 1,024 bytes holds a piece of 16 bytes for each of a panel's 64 rows.
//   i4: 32 columns; the nibbles of byte j are columns 2 j and 2 j + 1. i8: 16 columns; word 2 m + h has columns 8 m + h,
//   + 2, + 4, + 6. Halves: 8 columns. Floats: 4 columns.
// Option ROW_PIECES: 1 where weights lie so; 0 or undefined in panel order.
#ifndef ROW_PIECES
#define ROW_PIECES 0
#endif
// The places of one value, in either layout. NIBBLE_BYTE and CODE_BYTE are the bytes of a 4-bit and of an 8-bit code in a
// tile. ELEMENT_INDEX is an index in a dense panel; `columns` are those of a piece.
#if ROW_PIECES
#define NIBBLE_BYTE(column, r) ((r) * 16 + (column) / 2)
#define CODE_BYTE(column, r) ((column) / 16 * 1024 + (r) * 16 + ((column) / 8 % 2 * 2 + (column) % 2) * 4 + (column) % 8 / 2)
#define ELEMENT_INDEX(k, r, columns) (((size_t)(k) / (columns) * 64 + (r)) * (columns) + (k) % (columns))
#else
#define NIBBLE_BYTE(column, r) ((column) / 2 * 64 + (r) % 16 * 4 + (r) / 16)
#define CODE_BYTE(column, r) ((column) * 64 + (r))
#define ELEMENT_INDEX(k, r, columns) ((size_t)(k) * 64 + (r))
#endif

INLINE uint4 row_piece(__global const uchar *block, const int r) { return ((__global const uint4 *)block)[r]; }

// Words m of a piece as constants of a loop that is unrolled.
INLINE uint word_of(const uint4 piece, const int m) { return m == 0 ? piece.x : m == 1 ? piece.y : m == 2 ? piece.z : piece.w; }
