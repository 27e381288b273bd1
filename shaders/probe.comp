// Kernels of a device's start-up test. They show memory that host and device share (probe_increment), fused
// multiply-add (probe_fma), and quotients and roots (probe_quotient). probe_loop shows the number of loop iterations
// that an invocation may run. If the driver says that it adds four products of bytes at once, probe_dot shows that it
// does so exactly.
// kernels: probe_increment probe_fma probe_quotient probe_loop probe_dot
//
// Layout: probe_increment x uint [n]; probe_fma in f32 [n, 3], out f32 [n]; probe_quotient in f32 [n, 2], out f32 [n,
//   2]; probe_loop out uint [1]; probe_dot words uint [n, 2], out int [n].
// Work: one invocation per element.
#version 450
#extension GL_GOOGLE_include_directive : require
#ifdef KERNEL_probe_dot
#extension GL_EXT_spirv_intrinsics : require
#include "packed_dot.glsl"
#endif
#include "common.glsl"

layout(local_size_x = 1) in;

#ifdef KERNEL_probe_increment
BUFFER(0, uint, x);
layout(push_constant) uniform Args { uint x_offset; };
void main() { x[x_offset + gl_GlobalInvocationID.x] += 1u; }
#endif

#ifdef KERNEL_probe_fma
BUFFER(0, float, v);
BUFFER(1, float, result);
layout(push_constant) uniform Args { uint v_offset, result_offset; };
void main() {
  const uint i = gl_GlobalInvocationID.x;
  const uint at = v_offset + 3u * i;
  precise float sum = fma(v[at], v[at + 1u], v[at + 2u]);
  result[result_offset + i] = sum;
}
#endif

#ifdef KERNEL_probe_quotient
#include "quotient.glsl"
BUFFER(0, float, v);
BUFFER(1, float, result);
layout(push_constant) uniform Args { uint v_offset, result_offset; };
void main() {
  const uint at = 2u * gl_GlobalInvocationID.x;
  result[result_offset + at] = quotient(v[v_offset + at], v[v_offset + at + 1u]);
  result[result_offset + at + 1u] = root(v[v_offset + at]);
}
#endif

#ifdef KERNEL_probe_dot
BUFFER(0, uint, words);
BUFFER(1, int, result);
layout(push_constant) uniform Args { uint words_offset, result_offset; };
void main() {
  const uint i = gl_GlobalInvocationID.x;
  result[result_offset + i] = packed_dot(words[words_offset + 2u * i], words[words_offset + 2u * i + 1u], 0);
}
#endif

#ifdef KERNEL_probe_loop
// Finds out whether the driver ends loops early, so it must loop further than any shader may. It counts every trip.
BUFFER(0, uint, counted);
layout(push_constant) uniform Args { uint counted_offset; uint wanted; };
void main() {
  uint count = 0u;
  // trips <= 65000   a lie told on purpose: the result says how many there were
  for (uint i = 0u; i < wanted; ++i) count += (i ^ count) < 0xffffffffu ? 1u : 2u;
  counted[counted_offset] = count;
}
#endif
