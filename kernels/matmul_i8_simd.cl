// y[s, n] = sum over k of w[n, k] * x[s, k] with 8-bit packed weights, for CPU devices (simd family).
//
// Layout: the quants of a tile are int8 at k*64 + r; packed_simd.cl has the rest.
// Work mapping and limits: matmul_simd.cl. K is a multiple of 32 (of 256 with SUPER).
#define QUANT_BYTES 2048
#define SCALE_OF_ROWS(lane) 1.0f
#include "packed_simd.cl"

// Decodes columns 2*pair and 2*pair + 1 of the strip.
INLINE void load_pair(const Strip *r, int pair, float16 *first, float16 *second) {
  __global const char *at = (__global const char *)r->quants + r->lane + pair * 128;
  PREFETCH_STREAM(at, 8192);
  PREFETCH_STREAM(at, 8256);
#pragma unroll
  for (int b = 0; b < AT_ONCE; ++b) {
    first[b] = decode(r, b, convert_float16(vload16(0, at + b * 16)));
    second[b] = decode(r, b, convert_float16(vload16(0, at + 64 + b * 16)));
  }
}
#include "matmul_simd.cl"
