// Element by element additions in place: the residual connection (add_simt) and a bias vector (bias_simt).
//
// Layout: x f32 at s*x_stride + i; y f32 at s*y_stride + i; bias f32 [width].
// Work: one work-item per element: dimension 0 is i (rounded up to groups of 64), dimension 1 the token. `chunk` is 1.
// Limits: any width.

__kernel void add_simt(BUFFER(x), BUFFER(y), const int width, const int x_stride, const int y_stride, const int chunk) {
  const size_t s = get_global_id(1), i = get_global_id(0) * chunk;
  if (i < width) AT(float, x)[s * x_stride + i] += AT(const float, y)[s * y_stride + i];
}

__kernel void bias_simt(BUFFER(x), BUFFER(bias), const int width, const int x_stride, const int chunk) {
  const size_t s = get_global_id(1), i = get_global_id(0) * chunk;
  if (i < width) AT(float, x)[s * x_stride + i] += AT(const float, bias)[i];
}
