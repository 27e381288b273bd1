// Multiplies unsigned weight codes by a token's signed codes, four at a time, for 16 rows at once, and accumulates the
// products. Other kernels include this file; it is never built alone.
//
// Contract: exact for groups of at most 32 columns; with CODE_BITS 4 the codes of weights are below 16. `start` corrects for
//   the offset of the unsigned codes; the caller passes the same value to start_products() and all_products().
// Layout: a word holds four codes of a row, or four codes of a token.
// Variants: the host names one, and only after a test has proven it.
//   HAS_VPDPBUSD    AVX-512 VNNI: one instruction adds four products.
//   HAS_VPMADDUBSW  AVX2: one instruction adds two products in 16 bits, which saturate at 32,767. Two nibbles of 15 and
//                   codes of 127 make 3,810. A group has eight such pairs, which make 30,480; so a byte is split into
//                   two nibbles.
//   none            plain C.
#ifndef CODE_BITS
#define CODE_BITS BITS
#endif
#if defined(HAS_VPDPBUSD)
#define Sum int16
INLINE Sum start_products(const int start) { return (int16)(start); }
INLINE void add_products(Sum *sum, const uint16 codes, const uint x) {
  const uint16 all = (uint16)(x);
  __asm__("vpdpbusd %2, %1, %0" : "+v"(*sum) : "v"(codes), "v"(all));
}
INLINE int16 all_products(const Sum *sum, const int start) { return *sum; }

#elif defined(HAS_VPMADDUBSW)
typedef struct {
  short16 low[2];  // eight rows each; two neighbouring lanes hold the two pairs of columns of a row
#if CODE_BITS == 8
  short16 high[2];
#endif
} Sum;
INLINE Sum start_products(const int start) {
  Sum sum;
  for (int i = 0; i < 2; ++i) {
    sum.low[i] = 0;
#if CODE_BITS == 8
    sum.high[i] = 0;
#endif
  }
  return sum;
}
INLINE short16 pairs_of(const uint8 codes, const uint8 x) {
  short16 pairs;
  __asm__("vpmaddubsw %2, %1, %0" : "=x"(pairs) : "x"(codes), "x"(x));
  return pairs;
}
INLINE int8 add_pairs(const short16 pairs, const short factor) {
  const short16 factors = factor;
  int8 sum;
  __asm__("vpmaddwd %2, %1, %0" : "=x"(sum) : "x"(pairs), "x"(factors));
  return sum;
}
INLINE void add_products(Sum *sum, const uint16 codes, const uint x) {
  const uint8 all = (uint8)(x);
#if CODE_BITS == 4
  sum->low[0] += pairs_of(codes.lo, all);
  sum->low[1] += pairs_of(codes.hi, all);
#else
  const uint16 low = codes & 0x0f0f0f0fu, high = codes >> 4 & 0x0f0f0f0fu;
  sum->low[0] += pairs_of(low.lo, all);
  sum->low[1] += pairs_of(low.hi, all);
  sum->high[0] += pairs_of(high.lo, all);
  sum->high[1] += pairs_of(high.hi, all);
#endif
}
INLINE int16 all_products(const Sum *sum, const int start) {
  const int16 low = (int16)(add_pairs(sum->low[0], 1), add_pairs(sum->low[1], 1)) + start;
#if CODE_BITS == 4
  return low;
#else
  return low + (int16)(add_pairs(sum->high[0], 16), add_pairs(sum->high[1], 16));
#endif
}

#else
#define Sum int16
INLINE Sum start_products(const int start) { return (int16)(start); }
INLINE void add_products(Sum *sum, const uint16 codes, const uint x) {
  const int16 first = as_int16(codes & 255u) * (int)(char)(x & 255u);
  const int16 second = as_int16(codes >> 8 & 255u) * (int)(char)(x >> 8 & 255u);
  const int16 third = as_int16(codes >> 16 & 255u) * (int)(char)(x >> 16 & 255u);
  *sum += (first + second) + (third + as_int16(codes >> 24) * (int)(char)(x >> 24));
}
INLINE int16 all_products(const Sum *sum, const int start) { return *sum; }
#endif
