// y[s, n] = sum over k of w[n, k] * x[s, k] with 8-bit packed weights, for GPUs (simt family).
//
// Layout: the quants of a tile are int8 at k*64 + r; packed_tiles.cl has the rest. With ROW_PIECES
//   they lie as in row_piece.cl.
// Work mapping and limits: matmul_simt.cl, and matmul_rows_simt.cl with ROW_PIECES. K is a multiple of 32 (of 256 with
//   SUPER).
#include "row_piece.cl"
#define BITS 8
#define QUANT_BYTES 2048
#if ROW_PIECES
#define WORD_OF_CODE(column, r) ((column) / 16 * 256 + (r) * 4 + (column) / 8 % 2 * 2 + (column) % 2)
#define QUANT(quants, column, r) ((char)(((__global const uint *)(quants))[WORD_OF_CODE(column, r)] >> (column) % 8 / 2 * 8))
#else
#define QUANT(quants, column, r) (((__global const char *)(quants))[CODE_BYTE(column, r)])
#endif
#if ROW_PIECES && defined(TOKENS)
#include "packed_rows.cl"
#include "add_run_exact.cl"
#include "runs.cl"
#include "matmul_rows_simt.cl"
#else
#include "packed_simt.cl"
#include "matmul_simt.cl"
#endif
