// y[s, n] = sum over k of w[n, k] * x[s, k] with 4-bit packed weights, for GPUs (simt family).
//
// Layout: byte (k/2)*64 + r%16*4 + r/16 of a tile's quants holds q(k) in the low and q(k+1) in the high nibble;
//   packed_tiles.cl has the rest.
// Work mapping and limits: matmul_simt.cl. K is a multiple of 32 (of 256 with SUPER).
#define QUANT_BYTES 1024
#define QUANT(quants, column, r) ((quants[(column) / 2 * 64 + (r) % 16 * 4 + (r) / 16] >> ((column) % 2 * 4)) & 15)
#include "packed_simt.cl"
#include "matmul_simt.cl"
