// y[s, n] = sum over k of w[n, k] * x[s, k] with 4-bit packed weights, for CPU devices (simd family).
//
// Layout: quants of a tile: byte (k/2)*64 + r holds q(k) in the low and q(k+1) in the high nibble; the rest in packed_simd.cl.
// Work mapping and limits: matmul_simd.cl. K is a multiple of 32 (of 256 with SUPER).
#define QUANT_BYTES 1024
#include "packed_simd.cl"

// Decodes columns 2*pair and 2*pair + 1 of the run.
INLINE void load_pair(const Run *r, int pair, float16 *first, float16 *second) {
  __global const uchar *at = r->quants + pair * 64;
  PREFETCH_STREAM(at, 8192);
#pragma unroll
  for (int b = 0; b < AT_ONCE; ++b) {
    const uint16 q = convert_uint16(vload16(0, at + b * 16));  // widened once: masks and shifts are cheap on 32-bit lanes
    first[b] = decode(r, b, convert_float16(convert_int16(q & 15)));
    second[b] = decode(r, b, convert_float16(convert_int16(q >> 4)));
  }
}
#include "matmul_simd.cl"
