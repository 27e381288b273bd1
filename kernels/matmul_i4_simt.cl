// y[s, n] = sum over k of w[n, k] * x[s, k] with 4-bit packed weights, for GPUs (simt family).
//
// Layout: byte (k/2)*64 + r%16*4 + r/16 of a tile's quants holds q(k) in the low and q(k+1) in the high nibble;
//   packed_tiles.cl has the rest. With ROW_PIECES they lie as in row_piece.cl.
// Work mapping and limits: matmul_simt.cl, and matmul_rows_simt.cl with ROW_PIECES. K is a multiple of 32 (of 256 with
//   SUPER).
#include "row_piece.cl"
#include "code_book.cl"
#define BITS 4
#define QUANT_BYTES 1024
#if ROW_PIECES
#define QUANT(quants, column, r) number_of(((__global const uint *)(quants))[(r) * 4 + (column) / 8] >> 4 * ((column) % 8) & 15u)
#else
#define QUANT(quants, column, r) number_of(quants[NIBBLE_BYTE(column, r)] >> (column) % 2 * 4 & 15u)
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
