// The body of elementwise_{simd,simt}.comp.
layout(local_size_x = LANES) in;

#if defined(KERNEL_add_simd) || defined(KERNEL_add_simt)
BUFFER(0, float, x);
BUFFER(1, float, y);
layout(push_constant) uniform Args { uint x_offset, y_offset; int width, x_stride, y_stride, chunk; };
uint term(const uint s, const int i) { return y_offset + s * uint(y_stride) + uint(i); }
#define COMBINED(x, s, i) (x) + y[term(s, i)]
#elif defined(KERNEL_scale_simd) || defined(KERNEL_scale_simt)
BUFFER(0, float, x);
layout(push_constant) uniform Args { uint x_offset; int width, x_stride, chunk; float factor, cap; };
float scaled(const float value) {
  precise const float v = value * factor;
  return cap > 0.0 ? soft_cap1(v, cap) : v;
}
#define COMBINED(x, s, i) scaled(x)
#elif defined(KERNEL_expert_scale_simd) || defined(KERNEL_expert_scale_simt)
BUFFER(0, float, x);
BUFFER(1, float, factors);
BUFFER(2, int, ids);
BUFFER(3, int, places);
layout(push_constant) uniform Args { uint x_offset, factors_offset, ids_offset, places_offset; int width, x_stride, chunk; };
#define IS_LEFT(s) (places[places_offset + s] < 0)
#define COMBINED(x, s, i) (x) * factors[factors_offset + uint(ids[ids_offset + s])]
#else
BUFFER(0, float, x);
layout(constant_id = 0) const int CHOSEN = 0;
BUFFER(1, float, bias);
BUFFER(2, int, ids);
BUFFER(3, int, places);
layout(push_constant) uniform Args { uint x_offset, bias_offset, ids_offset, places_offset; int width, x_stride, chunk; };
#define IS_LEFT(s) (CHOSEN != 0 && places[places_offset + s] < 0)
uint bias_of(const uint s) { return bias_offset + (CHOSEN != 0 ? uint(ids[ids_offset + s]) * uint(width) : 0u); }
#define COMBINED(x, s, i) (x) + bias[bias_of(s) + uint(i)]
#endif

#ifndef IS_LEFT
#define IS_LEFT(s) false
#endif

void main() {
  const uint s = gl_WorkGroupID.y;
  if (IS_LEFT(s)) return;
  const uint row = x_offset + s * uint(x_stride);
  // trips <= TANDEM_MAX_CHUNK / 16   a run has at most that many elements, every invocation takes each 16th
  for (int i = run_begin(chunk); i < run_end(chunk, width); i += LANES) {
    x[row + uint(i)] = COMBINED(x[row + uint(i)], s, i);
  }
}
