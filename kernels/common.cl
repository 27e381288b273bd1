// The text in front of every kernel source: buffer arguments, half conversion, and the rules of the numeric contract.
//
// Limits: OpenCL C 1.2, no cl_khr_fp16 arithmetic, no sub-groups. The options -cl-fast-relaxed-math and -cl-mad-enable
//   are never used. Every fma of the numeric contract (docs/numbers.md) is written out, and the compiler must contract
//   nothing else.
#pragma OPENCL FP_CONTRACT OFF

// Suffix of function names that macros generate. A list's source holds several variants, and sets it to tell
// them apart.
#define VARIANT

// Helpers are forced inline: a C99 `inline` function that is not inlined has no definition to link to.
#define INLINE static inline __attribute__((always_inline))

// A buffer argument is a base pointer and a byte offset; PTR() gives the typed pointer.
#define BUFFER(name) __global uchar *name##_base, const ulong name##_offset
#define PTR(type, name) ((__global type *)(name##_base + name##_offset))

// Rounds to f16 (to nearest, ties to even) and back, because --act f16 stores activations so.
INLINE float round_f16(float x) {
  ushort h;
  vstore_half_rte(x, 0, (__private half *)&h);
  return vload_half(0, (__private half *)&h);
}
INLINE float16 round_f16x16(float16 x) {
  ushort h[16] __attribute__((aligned(64)));  // PoCL's vstore_half16 and vload_half16 may use aligned moves
  vstore_half16_rte(x, 0, (__private half *)h);
  return vload_half16(0, (__private half *)h);
}

// Trees over the 16 lanes of a vector. Each step folds one half onto the other, 16 -> 8 -> 4 -> 2 -> 1. The order of
// sums is part of the bit rules.
INLINE float sum_lanes(const float16 v) {
  const float8 a = v.lo + v.hi;
  const float4 b = a.lo + a.hi;
  const float2 c = b.lo + b.hi;
  return c.lo + c.hi;
}
// The same tree over 64 lanes, 64 -> 32 -> 16 and on. Vector b holds the lanes from 16 b on. In the simt family
// group_sum() has this order.
INLINE float sum_64_lanes(const float16 *v) { return sum_lanes((v[0] + v[2]) + (v[1] + v[3])); }
INLINE float16 larger16(const float16 a, const float16 b) { return b > a ? b : a; }
INLINE float larger(const float a, const float b) { return b > a ? b : a; }
INLINE float largest_lane(const float16 v) {
  const float8 a = v.hi > v.lo ? v.hi : v.lo;
  const float4 b = a.hi > a.lo ? a.hi : a.lo;
  const float2 c = b.hi > b.lo ? b.hi : b.lo;
  return larger(c.lo, c.hi);
}

// Stores 16 floats at any address that is aligned for a float, as vstore16 does. PoCL 3.1 compiles vstore16 to three
// stores. `space` is the pointer's address space.
#ifdef __clang__
typedef float16 float16_anywhere __attribute__((aligned(4)));
#define STORE16(space, v, p) (*(space float16_anywhere *)(p) = (v))
#else
#define STORE16(space, v, p) vstore16(v, 0, p)
#endif

// 16 words at any byte address; vload16 requires the alignment of a word.
#ifdef __clang__
typedef uint16 uint16_anywhere __attribute__((aligned(1)));

// All bytes of a register (code_book_simd.cl).
typedef char char32 __attribute__((ext_vector_type(32)));
typedef char char64 __attribute__((ext_vector_type(64)));
#endif

// Loads 16 halves as floats from any address that is aligned for a half. PoCL 3.1 compiles vload_half16 to two
// conversions and an insertion, with aligned loads. `space` is the pointer's address space.
#if defined(__clang__) && defined(__AVX512F__)
typedef short16 short16_anywhere __attribute__((aligned(2)));
#define LOAD_HALF16(space, p) \
  __builtin_ia32_vcvtph2ps512_mask(*(space const short16_anywhere *)(p), (float16)(0.0f), (short)-1, 4)
#else
#define LOAD_HALF16(space, p) vload_half16(0, (space const half *)(p))
#endif

// The first `count` (< 16) of 16 values. The other lanes are `fill`, and the function touches no memory past the count.
INLINE float16 load_part(__global const float *p, const int count, const float fill) {
  float lanes[16];
  for (int i = 0; i < 16; ++i) lanes[i] = i < count ? p[i] : fill;
  return vload16(0, lanes);
}
INLINE void store_part(const float16 v, __global float *p, const int count) {
  float lanes[16];
  STORE16(__private, v, lanes);
  for (int i = 0; i < count; ++i) p[i] = lanes[i];
}
// The first `left` of 16 values, where `left` may be any number; the other lanes are `fill`.
INLINE float16 load_up_to(__global const float *p, const int left, const float fill) {
  return left >= 16 ? vload16(0, p) : left > 0 ? load_part(p, left, fill) : (float16)(fill);
}

// Stores a vector of rows. The last rows of a matrix may fill only a part of a vector.
INLINE void store_rows(const float16 v, __global float *y, const int rows) {
  if (rows >= 16)
    STORE16(__global, v, y);
  else
    store_part(v, y, rows);
}

// e^x: softmax, attention and SwiGLU share this definition, and the scalar and the vector form give the same bits.
//   x = n ln 2 + r. n is the nearest integer, from the low bits of x / ln 2 + 1.5 * 2^23; ln 2 is in two parts (Cody
//   and Waite).
//   e^r = 1 + r + r^2 P(r), with P of degree 5 and |r| <= ln 2 / 2. Then n is added to the exponent field.
// The result is 0 below -87.33, where e^x is the smallest normal number, and infinity above 88.7228. In between the
// error is at most 1 ulp (measured over a sweep of all exponents), and e^0 is exactly 1.
#define EXP_OF_NONE_ABOVE_0(FLOAT, INT, x)                                                                         \
  const FLOAT shifted = fma(x, (FLOAT)(1.44269504f), (FLOAT)(12582912.0f));                                        \
  const FLOAT n = shifted - (FLOAT)(12582912.0f);                                                                  \
  const FLOAT r = fma(n, (FLOAT)(2.12194440e-4f), fma(n, (FLOAT)(-0.693359375f), x));                              \
  FLOAT p = (FLOAT)(1.9875691500e-4f);                                                                             \
  p = fma(p, r, (FLOAT)(1.3981999507e-3f));                                                                        \
  p = fma(p, r, (FLOAT)(8.3334519073e-3f));                                                                        \
  p = fma(p, r, (FLOAT)(4.1665795894e-2f));                                                                        \
  p = fma(p, r, (FLOAT)(1.6666665459e-1f));                                                                        \
  p = fma(p, r, (FLOAT)(5.0000001201e-1f));                                                                        \
  p = fma(p, r * r, r) + (FLOAT)(1.0f);                                                                            \
  FLOAT e = as_##FLOAT(as_##INT(p) + (as_##INT(shifted) << 23));                                                   \
  return x < (FLOAT)(-87.33f) ? (FLOAT)(0.0f) : e
INLINE float exp1_of_none_above_0(const float x) { EXP_OF_NONE_ABOVE_0(float, int, x); }
INLINE float16 exp16_of_none_above_0(const float16 x) { EXP_OF_NONE_ABOVE_0(float16, int16, x); }
INLINE float exp1(const float x) { return x > 88.7228f ? INFINITY : exp1_of_none_above_0(x); }
INLINE float16 exp16(const float16 x) { return x > 88.7228f ? (float16)(INFINITY) : exp16_of_none_above_0(x); }

// A soft cap, cap * tanh(x / cap), by tanh(u) = 1 - 2 / (1 + exp(2 u)).
INLINE float soft_cap1(const float x, const float cap) { return cap * (1.0f - 2.0f / (1.0f + exp1(x / cap * 2.0f))); }
INLINE float16 soft_cap16(const float16 x, const float cap) { return cap * (1.0f - 2.0f / (1.0f + exp16(x / cap * 2.0f))); }

// Trees over the 64 work-items of a group (simt family): 32 + 32, 16 + 16, ... Every work-item must call them, and
// every one receives the result.
// `lanes` holds 64 values; the caller may reuse it at once.
#define GROUP_TREE(name, combine)                                                   \
  INLINE float name(__local float *lanes, const float value) {                      \
    const int lane = get_local_id(0);                                               \
    lanes[lane] = value;                                                            \
    barrier(CLK_LOCAL_MEM_FENCE);                                                   \
    for (int width = 32; width > 0; width /= 2) {                                   \
      if (lane < width) lanes[lane] = combine(lanes[lane], lanes[lane + width]);    \
      barrier(CLK_LOCAL_MEM_FENCE);                                                 \
    }                                                                               \
    const float result = lanes[0];                                                  \
    barrier(CLK_LOCAL_MEM_FENCE);                                                   \
    return result;                                                                  \
  }
INLINE float plus(const float a, const float b) { return a + b; }
GROUP_TREE(group_sum, plus)
GROUP_TREE(group_largest, larger)

// Prefetches the cache line at `bytes` after `pointer`. The macro is empty where the compiler lacks the builtin (the
// device tries it at start).
#ifdef HAS_PREFETCH
#define PREFETCH(pointer, bytes) __builtin_prefetch((__private const void *)((size_t)(pointer) + (bytes)))
// Into the L2 cache.
#define PREFETCH_FAR(pointer, bytes) __builtin_prefetch((__private const void *)((size_t)(pointer) + (bytes)), 0, 2)
#else
#define PREFETCH(pointer, bytes)
#define PREFETCH_FAR(pointer, bytes)
#endif
