// y[s, n] = sum over k of w[n, k] * x[s, k] with f32, f16 or bf16 packed weights, for CPU devices (simd family).
//
// Layout: element (row r of the panel, column k) at index k*64 + r. Options: ELEMENT 0 f32, 1 f16, 2 bf16.
// Work mapping and limits: matmul_simd.cl. K is any number, also odd.
#define STRIP 32
#if ELEMENT == 0
#define ELEMENT_BYTES 4
#else
#define ELEMENT_BYTES 2
#endif
#define STRIP_REGISTERS 0
#include "registers_simd.cl"
#include "fetch_simd.cl"
// A column of a work-item's 32 rows is one cache line (f16, bf16) or two (f32). matmul_gemm prefetches only its own
// lines of f16 and bf16, but the lines of all 64 rows of f32.
#define FETCH_STEP (ELEMENT_BYTES == 2 ? 128 : 64)
#define FETCH_OFFSET(lane) (ELEMENT_BYTES == 2 ? (lane)*2 : 0)

// One conversion in place of three is faster where tokens share it (64 tokens of F16 on an Intel core: 125 GFLOP/s, 121
// without). It is slower where memory is the limit (one token: 12.8 GB/s, 15.9 without).
#ifdef TOKENS
#define HALVES(at) vload_half16(0, (__global const half *)(at))
#else
#define HALVES(at) LOAD_HALF16(__global, at)
#endif

typedef struct {
  __global const uchar *quants;
} Strip;

INLINE Strip load_strip(__global const uchar *panel, int strip, int lane) {
  Strip r;
  r.quants = panel + ((size_t)strip * STRIP * 64 + lane) * ELEMENT_BYTES;
  return r;
}

INLINE float16 load_column(const Strip *r, int column, int b) {
  __global const uchar *at = r->quants + (column * 64 + b * 16) * ELEMENT_BYTES;
#if ELEMENT == 0
  PREFETCH_STREAM(at, 8192);
  return vload16(0, (__global const float *)at);
#elif ELEMENT == 1
  if (b % 2 == 0) PREFETCH_STREAM(at, 8192);
  return HALVES(at);
#else
  if (b % 2 == 0) PREFETCH_STREAM(at, 8192);
  return as_float16(convert_uint16(vload16(0, (__global const ushort *)at)) << 16);
#endif
}

INLINE void load_pair(const Strip *r, int pair, float16 *first, float16 *second) {
#pragma unroll
  for (int b = 0; b < AT_ONCE; ++b) first[b] = load_column(r, 2 * pair, b);
#pragma unroll
  for (int b = 0; b < AT_ONCE; ++b) second[b] = load_column(r, 2 * pair + 1, b);
}
#define ANY_COLUMNS  // K may end inside a strip
#include "matmul_simd.cl"
