// Quantises activations: rows of f32 values become groups of 32 codes with a scale (act_i8.cl has their layout).
//
// Layout: x f32, row `slot` of token s at s*x_stride + slot*x_slot. codes: row s*slots + slot has K / 32 groups of
//   12 words.
// Work: dimension 0 is the token, dimension 1 the slot (0 .. slots-1); local size 1.
// Limits: K is a multiple of 32. The kernel rounds a value by adding 1.5 * 2^23 (12582912) and reading the low bits;
//   this is exact below 2^22.
#include "act_i8.cl"

INLINE int largest_of(const int16 v) {
  const int8 a = max(v.lo, v.hi);
  const int4 b = max(a.lo, a.hi);
  const int2 c = max(b.lo, b.hi);
  return max(c.x, c.y);
}
INLINE int sum_of(const int16 v) {
  const int8 a = v.lo + v.hi;
  const int4 b = a.lo + a.hi;
  const int2 c = b.lo + b.hi;
  return c.x + c.y;
}
INLINE int16 nearest_codes(const float16 x, const float factor) {
  const float16 scaled = x * factor;
  return as_int16(scaled + 12582912.0f) - 0x4b400000;
}

__kernel void act_i8_simd(BUFFER(x), BUFFER(codes), const int K, const int slots, const int x_stride, const int x_slot) {
  const long s = get_global_id(0), slot = get_global_id(1);
  __global const float *from = PTR(const float, x) + s * x_stride + slot * x_slot;
  __global uint *to = PTR(uint, codes) + (s * slots + slot) * (K / 32) * ACT_WORDS;
  for (int k = 0; k < K; k += 32, to += ACT_WORDS) {
    const float16 first = vload16(0, from + k), second = vload16(0, from + k + 16);
    float scale;
    const float factor = act_factor(largest_of(max(as_int16(first) & 0x7fffffff, as_int16(second) & 0x7fffffff)), &scale);
    int16 a = 0, b = 0;
    if (factor != 0.0f) a = nearest_codes(first, factor), b = nearest_codes(second, factor);
    vstore16(as_uchar16(convert_char16(a)).s024613578ace9bdf, 0, (__global uchar *)to);
    vstore16(as_uchar16(convert_char16(b)).s024613578ace9bdf, 0, (__global uchar *)(to + 4));
    to[ACT_SCALE] = as_uint(scale);
    to[ACT_SUMS] = (uint)sum_of(a);
    to[ACT_SUMS + 1] = (uint)sum_of(b);
  }
}
