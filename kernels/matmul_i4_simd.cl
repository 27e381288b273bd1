// y[s, n] = sum over k of w[n, k] * x[s, k] with 4-bit packed weights, for CPU devices (simd family).
//
// Layout: quants of a tile: byte (k/2)*64 + r%16*4 + r/16 holds q(k) in the low and q(k+1) in the high nibble; the rest in packed_simd.cl.
//   So byte r/16 of 16 words is 16 rows: their codes are masked where they stand and converted as q * 2^(8 * byte), which the scale
//   takes back; fma(q, scale, low) rounds as written. The odd columns' codes are shifted down first: the topmost would be the sign.
// Work mapping and limits: matmul_simd.cl. K is a multiple of 32 (of 256 with SUPER).
#define QUANT_BYTES 1024
#define SCALE_OF_ROWS(lane) as_float((127 - (lane) / 16 * 8) << 23)

// With AVX-512 a code becomes a float by one operation where it stands at bit 16 or 12 of its word: behind the exponent of 128 or 2048 it
// is 128 + q or 2048 + q. Then fma(128 + q, scale, low - 128 scale) rounds the same number as fma(q, scale, low), if low - 128 scale is
// exact. It is for a zero point, an f16 times at most 12 bits; and where, with E the exponent field of an f16 and E that of |scale|,
// |min|'s is E - 1 to E + 11, for all rows of a run: both are multiples of 2^(E - 26) below 2^(E - 2), 24 bits.
#ifdef __clang__
INLINE ushort16 larger_part(const ushort16 a, const ushort16 b) { return a > b ? a - b : (ushort16)(0); }  // one saturating subtraction

INLINE bool mins_take_offsets(__global const half *scales, __global const half *mins) {
  ushort16 outside = 0;
#pragma unroll
  for (int b = 0; b < 4; ++b) {
    const ushort16 scale = ((__global const ushort16 *)scales)[b] & (ushort)0x7fff, low = ((__global const ushort16 *)mins)[b] & (ushort)0x7fff;
    outside |= larger_part(scale, low + (ushort)(1 << 10)) | larger_part(low, scale + (ushort)(11 << 10));
  }
  const ulong4 four = as_ulong4(outside);
  return (four.x | four.y | four.z | four.w) == 0;
}
#define TAKES_OFFSETS(scales, mins) (MIN_KIND == 1 || mins_take_offsets(scales, mins))
#endif
#include "packed_simd.cl"

// Decodes columns 2*pair and 2*pair + 1 of the run.
INLINE void load_pair(const Run *r, int pair, float16 *first, float16 *second) {
  __global const uchar *at = r->quants + pair * 64;
  PREFETCH_STREAM(at, 8192);
  const uint16 even = *(__global const uint16 *)at, odd = even >> 4;
#pragma unroll
  for (int b = 0; b < AT_ONCE; ++b) {
    const uint mask = 15u << (r->lane / 16 + b) * 8;
    first[b] = decode(r, b, convert_float16(as_int16(even & mask)));
    second[b] = decode(r, b, convert_float16(as_int16(odd & mask)));
  }
}

#ifdef OFFSETS
typedef struct {
  float16 scale[4], even[4], odd[4];  // low - 128 scale, low - 2048 scale
  __global const uchar *quants;
} Offsets;

INLINE Offsets with_offsets(const Run *r) {
  Offsets o;
#pragma unroll
  for (int b = 0; b < 4; ++b) {
    o.scale[b] = r->scale[b] / SCALE_OF_ROWS(b * 16);
    o.even[b] = fma(o.scale[b], (float16)(-128.0f), r->low[b]);
    o.odd[b] = fma(o.scale[b], (float16)(-2048.0f), r->low[b]);
  }
  o.quants = r->quants;
  return o;
}

// Words that begin up to two bytes early have their codes that many bytes higher: the load shifts. Before the quants lie scales.
INLINE void load_pair_by_offsets(const Offsets *o, int pair, float16 *first, float16 *second) {
  __global const uchar *at = o->quants + pair * 64;
  PREFETCH_STREAM(at, 8192);
  const uint16 words = *(__global const uint16 *)at;
  const uint16 moved[] = {*(__global const uint16_anywhere *)(at - 2), *(__global const uint16_anywhere *)(at - 1), words, words >> 8,
                          words >> 16};
#pragma unroll
  for (int b = 0; b < 4; ++b) {
    first[b] = fma(as_float16((moved[b] & (15u << 16)) | 0x43000000u), o->scale[b], o->even[b]);
    second[b] = fma(as_float16((moved[b + 1] & (15u << 12)) | 0x45000000u), o->scale[b], o->odd[b]);
  }
}
#endif
#include "matmul_simd.cl"
