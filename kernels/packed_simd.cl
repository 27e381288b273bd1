// Decodes packed weights 16 rows at a time; the simd kernels of i4 and i8 share it. Other kernels include this file; it
// is never built alone.
//
// Layout (packed/format.h): a panel is 64 rows, and G = 32 / GROUP.
//   SUPER == 0: tile = [half scale[G][64]] [half min[G][64] if explicit] [quants].
//   SUPER == 1: 8 tiles behind a header [half d[64]] [half dmin[64] if explicit]; tile = [int8 sc[G][64]] [uint8
//   m[G][64]] [quants]. SUPER == 2: the same, and scales are eighths of d * sc.
// Options: GROUP 32|16, SUPER 0|1|2, MIN_KIND 0 none, 1 zero point, 2 explicit; ZERO_POINT; QUANT_BYTES of one tile.
// A strip is GROUP columns that share their scales. The kernel decodes AT_ONCE blocks of 16 rows at a time, from row
// `lane` of the panel on. The including file defines SCALE_OF_ROWS(lane), an exact power of two that multiplies
// their scales.
#define SCALE_STEP (SUPER == 2 ? 0.125f : 1.0f)
#define STRIP GROUP
#define STRIPS_PER_TILE (32 / GROUP)
#if SUPER
#define SCALE_BYTES (STRIPS_PER_TILE * 64)
#define HEADER_BYTES (MIN_KIND == 2 ? 256 : 128)
#else
#define SCALE_BYTES (STRIPS_PER_TILE * 128)
#define HEADER_BYTES 0
#endif
#define TILE_BYTES (SCALE_BYTES * (MIN_KIND == 2 ? 2 : 1) + QUANT_BYTES)

#define STRIP_REGISTERS (MIN_KIND == 0 ? 1 : 2)
#include "registers_simd.cl"
#include "fetch_simd.cl"
#ifndef OFFSETS_PAY
#define OFFSETS_PAY 1
#endif
#ifdef TAKES_OFFSETS
#if OFFSETS_PAY && defined(TOKENS) && AT_ONCE == 4 && !SUPER && MIN_KIND != 0
#define OFFSETS
#endif
#endif
#define FETCH_STEP 64
#define FETCH_OFFSET(lane) 0  // a line holds all 64 rows

// With few registers the compiler would keep `low` in a register, although it is read only once a vector, and spill a
// sum. The sum's chain then goes through memory (AVX2, Q4_1, one token: 93 us, 80 without). volatile prevents this.
#if defined(TOKENS) && REGISTERS < 32
#define LOW_IN_MEMORY volatile
#else
#define LOW_IN_MEMORY
#endif
typedef struct {
  float16 scale[AT_ONCE];
  LOW_IN_MEMORY float16 low[AT_ONCE];  // fma adds it; unused with MIN_KIND 0
  __global const uchar *quants;  // the strip's codes, from row 0 of the panel on
  int lane;
#ifdef OFFSETS
  bool takes_offsets;  // matmul_i4_simd.cl
#endif
} Strip;

INLINE Strip load_strip(__global const uchar *panel, int strip, int lane) {
  Strip r;
  const int tile = strip / STRIPS_PER_TILE, part = strip % STRIPS_PER_TILE;
#if SUPER
  __global const uchar *header = panel + (size_t)(tile / 8) * (HEADER_BYTES + 8 * TILE_BYTES);
  __global const uchar *at = header + HEADER_BYTES + (tile % 8) * TILE_BYTES;
#else
  __global const uchar *at = panel + (size_t)tile * TILE_BYTES;
#endif
  PREFETCH_STREAM(at, 8192);
  PREFETCH_STREAM(at, 8256);
#pragma unroll
  for (int b = 0; b < AT_ONCE; ++b) {
    const int row = part * 64 + lane + b * 16;
#if SUPER
    const float16 d = LOAD_HALF16(__global, (__global const half *)header + lane + b * 16);
    r.scale[b] = d * (convert_float16(vload16(0, (__global const char *)at + row)) * SCALE_STEP);
#if MIN_KIND == 2
    const float16 dmin = LOAD_HALF16(__global, (__global const half *)header + 64 + lane + b * 16);
    r.low[b] = -(dmin * convert_float16(vload16(0, at + SCALE_BYTES + row)));
#endif
#else
    r.scale[b] = LOAD_HALF16(__global, (__global const half *)at + row);
#if MIN_KIND == 2
    r.low[b] = LOAD_HALF16(__global, (__global const half *)(at + SCALE_BYTES) + row);
#endif
#endif
#if MIN_KIND == 1
    r.low[b] = -((float)ZERO_POINT * r.scale[b]);
#endif
  }
#pragma unroll
  for (int b = 0; b < AT_ONCE; ++b) r.scale[b] *= SCALE_OF_ROWS(lane + b * 16);
  r.quants = at + SCALE_BYTES * (MIN_KIND == 2 ? 2 : 1) + part * (QUANT_BYTES / STRIPS_PER_TILE);
  r.lane = lane;
#ifdef OFFSETS
  r.takes_offsets = TAKES_OFFSETS((__global const half *)at + part * 64, (__global const half *)(at + SCALE_BYTES) + part * 64);
#endif
  return r;
}

INLINE float16 decode(const Strip *r, int b, float16 q) {
#if MIN_KIND == 0
  return q * r->scale[b];
#else
  return fma(q, r->scale[b], r->low[b]);
#endif
}
