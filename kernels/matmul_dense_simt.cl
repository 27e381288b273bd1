// y[s, n] = sum over k of w[n, k] * x[s, k] with f32, f16 or bf16 packed weights, for GPUs (simt family).
//
// Layout: element (row r of the panel, column k) at index k*64 + r. Options: ELEMENT 0 f32, 1 f16, 2 bf16.
// Work mapping and limits: matmul_simt.cl. K is any number, also odd: columns past K count as zero.
INLINE void load_columns(__global const uchar *panel, const int r, const int k, const int K, float *w) {
  for (int j = 0; j < 8; ++j) {
    const size_t at = (size_t)(k + j) * 64 + r;
    w[j] = 0.0f;
    if (k + j < K) {
#if ELEMENT == 0
      w[j] = ((__global const float *)panel)[at];
#elif ELEMENT == 1
      w[j] = vload_half(at, (__global const half *)panel);
#else
      w[j] = as_float((uint)((__global const ushort *)panel)[at] << 16);
#endif
    }
  }
}
#include "matmul_simt.cl"
