// Element by element additions in place: the residual connection (add_simd) and a bias vector (bias_simd).
//
// Layout: x f32 at s*x_stride + i; y f32 at s*y_stride + i; bias f32 [width].
// Work: dimension 0 is a run of `chunk` elements of a row, dimension 1 the token; local size 1.
// Limits: any width; chunk a multiple of 16.

INLINE void add_run(__global float *x, __global const float *y, const int count) {
  int i = 0;
  for (; i + 16 <= count; i += 16) STORE16(__global, vload16(0, x + i) + vload16(0, y + i), x + i);
  for (; i < count; ++i) x[i] += y[i];
}

__kernel void add_simd(BUFFER(x), BUFFER(y), const int width, const int x_stride, const int y_stride, const int chunk) {
  const size_t s = get_global_id(1);
  const int begin = get_global_id(0) * chunk;
  add_run(AT(float, x) + s * x_stride + begin, AT(const float, y) + s * y_stride + begin, min(chunk, width - begin));
}

__kernel void bias_simd(BUFFER(x), BUFFER(bias), const int width, const int x_stride, const int chunk) {
  const size_t s = get_global_id(1);
  const int begin = get_global_id(0) * chunk;
  add_run(AT(float, x) + s * x_stride + begin, AT(const float, bias) + begin, min(chunk, width - begin));
}
