// The sum of four products of signed bytes, one from each of two words. Other kernels include this file; it is never
// built alone.
//
// Option HAS_PACKED_DOT, which the device has proven: 1 cl_khr_integer_dot_product; 2 NVIDIA's instruction dp4a, which
//   its OpenCL knows by name only. Otherwise the bytes are multiplied one by one. The sums are the same.
#if HAS_PACKED_DOT == 1
#define DOT(a, b) dot_4x8packed_ss_int(a, b)
#elif HAS_PACKED_DOT == 2
INLINE int dp4a(const uint a, const uint b) {
  int sum;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(0));
  return sum;
}
#define DOT(a, b) dp4a(a, b)
#else
INLINE int code_of(const uint word, const int i) { return (int)(char)(word >> 8 * i & 255u); }
#define DOT(a, b)                                                                                                        \
  (code_of(a, 0) * code_of(b, 0) + code_of(a, 1) * code_of(b, 1) + code_of(a, 2) * code_of(b, 2) + code_of(a, 3) * code_of(b, 3))
#endif
