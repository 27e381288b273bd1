// Copies groups of values, y[s, g, :] = x[s, g, :]; the values of a group are contiguous in rows of x and of y.
//   -DROUND_F16=1 rounds them to f16. -DIN_PLACE=1 reads them from y itself.
//
// Layout: x f32 at s*x_stride + g*x_group + i; y f32 at s*y_stride + g*y_group + i.
// Work: one work-item per element. Dimension 0 is i (rounded up to groups of 64), dimension 1 the token, dimension 2
//   the group. `chunk` is 1.
// Limits: any width; x and y do not overlap.
#ifndef ROUND_F16
#define ROUND_F16 0
#endif
#ifndef IN_PLACE
#define IN_PLACE 0
#endif

__kernel void copy_simt(BUFFER(x), BUFFER(y), const int width, const int x_stride, const int x_group, const int y_stride, const int y_group,
                        const int chunk) {
  const size_t s = get_global_id(1), g = get_global_id(2), i = get_global_id(0) * chunk;
  if (i >= width) return;
  __global float *y = PTR(float, y) + s * y_stride + g * y_group + i;
#if IN_PLACE
  const float value = *y;
#else
  const float value = PTR(const float, x)[s * x_stride + g * x_group + i];
#endif
#if ROUND_F16
  *y = round_f16(value);
#else
  *y = value;
#endif
}
