// Copies groups of values, y[s, g, :] = x[s, g, :]; the values of a group are contiguous in rows of x and of y.
//   -DROUND_F16=1 rounds them to f16. -DIN_PLACE=1 reads them from y itself.
//
// Layout: x f32 at s*x_stride + g*x_group + i; y f32 at s*y_stride + g*y_group + i.
// Work: dimension 0 is a run of `chunk` elements of a group, dimension 1 the token, dimension 2 the group; local
//   size 1.
// Limits: any width; chunk is a multiple of 16; x and y do not overlap.
#ifndef ROUND_F16
#define ROUND_F16 0
#endif
#ifndef IN_PLACE
#define IN_PLACE 0
#endif

#if ROUND_F16
#define STORED16(v) round_f16x16(v)
#define STORED(v) round_f16(v)
#else
#define STORED16(v) (v)
#define STORED(v) (v)
#endif

__kernel void copy_simd(BUFFER(x), BUFFER(y), const int width, const int x_stride, const int x_group, const int y_stride, const int y_group,
                        const int chunk) {
  const size_t s = get_global_id(1), g = get_global_id(2);
  const int begin = get_global_id(0) * chunk, end = min(width, begin + chunk);
  __global float *y = PTR(float, y) + s * y_stride + g * y_group;
#if IN_PLACE
  __global const float *x = y;
#else
  __global const float *x = PTR(const float, x) + s * x_stride + g * x_group;
#endif
  int i = begin;
  for (; i + 16 <= end; i += 16) STORE16(__global, STORED16(vload16(0, x + i)), y + i);
  for (; i < end; ++i) y[i] = STORED(x[i]);
}
