// y[s, n] = sum over k of w[n, k] * x[s, k] with 4-bit packed weights, for CPU devices (simd family).
//
// Layout: byte (k/2)*64 + r%16*4 + r/16 of a tile's quants holds q(k) in the low and q(k+1) in the high nibble;
//   packed_simd.cl has the rest.
//   So byte r/16 of 16 words holds 16 rows. The kernel masks their codes in place and converts them as q * 2^(8 *
//   byte); the scale takes the power back. fma(q, scale, low) rounds as written. It shifts the odd columns' codes down
//   first, because the topmost bit would be the sign. With a BOOK (code_book.cl) codes are looked up instead.
// Work mapping and limits: matmul_simd.cl. K is a multiple of 32 (of 256 with SUPER).
#define QUANT_BYTES 1024
#include "code_book_simd.cl"
#if BOOK
#define SCALE_OF_ROWS(lane) 1.0f
#else
#define SCALE_OF_ROWS(lane) as_float((127 - (lane) / 16 * 8) << 23)
#endif

// With AVX-512 one operation (vpternlog) turns a code into a float if the code is at bit 16 or 12 of its word. Behind
// the exponent of 128 or 2048 it reads as 128 + q or 2048 + q. Then fma(128 + q, scale, low - 128 scale) rounds the
// same number as fma(q, scale, low), if low - 128 scale is exact.
// With a zero point it is exact: low - 128 scale is an f16 times at most 12 bits. With explicit minima let E be the
// exponent field of |scale|, an f16. It is exact if the exponent field of |min| is E - 1 to E + 11, for all rows of a
// strip: both terms are multiples of 2^(E - 26) below 2^(E - 2), 24 bits.
// OFFSETS_PAY=0 is for processors on which that operation takes the place of a multiply-add
// (engine/device/processor.h): the mask and the conversion above are faster there.
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

// Decodes columns 2*pair and 2*pair + 1 of the strip.
INLINE void load_pair(const Strip *r, int pair, float16 *first, float16 *second) {
  __global const uchar *at = r->quants + pair * 64;
  PREFETCH_STREAM(at, 8192);
  const uint16 even = *(__global const uint16 *)at, odd = even >> 4;
#if BOOK
  const uint16 ready_even = READY_CODES(even), ready_odd = READY_CODES(odd);
#endif
#pragma unroll
  for (int b = 0; b < AT_ONCE; ++b) {
#if BOOK
    first[b] = decode(r, b, number_of_byte(ready_even, r->lane / 16 + b));
    second[b] = decode(r, b, number_of_byte(ready_odd, r->lane / 16 + b));
#else
    const uint mask = 15u << (r->lane / 16 + b) * 8;
    first[b] = decode(r, b, convert_float16(as_int16(even & mask)));
    second[b] = decode(r, b, convert_float16(as_int16(odd & mask)));
#endif
  }
}

#ifdef OFFSETS
typedef struct {
  float16 scale[4], even[4], odd[4];  // low - 128 scale, low - 2048 scale
  __global const uchar *quants;
} Offsets;

INLINE Offsets with_offsets(const Strip *r) {
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

// A load that begins up to two bytes earlier has the codes as many bytes higher, so the load does the shift. The bytes
// in front of the quants are scales.
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
