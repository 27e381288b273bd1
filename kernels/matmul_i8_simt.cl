// y[s, n] = sum over k of w[n, k] * x[s, k] with 8-bit packed weights, for GPUs (simt family).
//
// Layout: the quants of a tile are int8 at k*64 + r; packed_tiles.cl has the rest.
// Work mapping and limits: matmul_simt.cl. K is a multiple of 32 (of 256 with SUPER).
#define QUANT_BYTES 2048
#define QUANT(quants, column, r) (((__global const char *)quants)[(column) * 64 + (r)])
#include "packed_simt.cl"
#include "matmul_simt.cl"
