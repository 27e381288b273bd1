// The activation of a feed-forward block (glu_options.cl).
//
// Layout: gate, up, y f32 at s*stride + i.
// Work: dimension 0 is a run of `chunk` elements of a row, dimension 1 the token; local size 1.
// Limits: any width; chunk is a multiple of 16; y may be gate or up. exp is exp16 of common.cl.
#include "glu_options.cl"

INLINE float16 activated16(const float16 gate) {
#if ACTIVATION == 3
  const float16 limited = gate > 7.0f ? (float16)(7.0f) : gate;
  return limited / (1.0f + exp16(limited * -1.702f));
#elif ACTIVATION == 2
  return gate * (gate > 0.0f ? gate : (float16)(0.0f));
#elif ACTIVATION == 1
  return gate / (1.0f + exp16(fma((float16)(0.044715f), gate * gate * gate, gate) * -1.5957691216f));
#else
  return gate / (1.0f + exp16(-gate));
#endif
}

INLINE float16 factor16(const float16 up) {
#if ACTIVATION == 3
  return (up > 7.0f ? (float16)(7.0f) : up < -7.0f ? (float16)(-7.0f) : up) + 1.0f;
#else
  return up;
#endif
}

INLINE float16 rounded16(const float16 y) {
#if ROUND_F16
  return round_f16x16(y);
#else
  return y;
#endif
}

#if GATED
#define TIMES(up) * factor16(up)
#else
#define TIMES(up)
#endif

__kernel void glu_simd(BUFFER(gate), BUFFER(up), BUFFER(y), const int width, const int gate_stride, const int up_stride,
                          const int y_stride, const int chunk) {
  const size_t s = get_global_id(1);
  const int begin = get_global_id(0) * chunk, end = min(width, begin + chunk);
  __global const float *gate = PTR(const float, gate) + s * gate_stride;
  __global const float *up = PTR(const float, up) + s * up_stride;
  __global float *y = PTR(float, y) + s * y_stride;
  int i = begin;
  for (; i + 16 <= end; i += 16)
    STORE16(__global, rounded16(activated16(vload16(0, gate + i)) TIMES(vload16(0, up + i))), y + i);
  if (i < end) {
    const int rest = end - i;
    store_part(rounded16(activated16(load_part(gate + i, rest, 0.0f)) TIMES(load_part(up + i, rest, 0.0f))), y + i,
               rest);
  }
}
