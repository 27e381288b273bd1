// What a device must show at start: shared memory (probe_increment), fused multiply-add (probe_fma), how many loop iterations an invocation may
// run (probe_loop).
// kernels: probe_increment probe_fma probe_loop
//
// Layout: probe_increment x uint [n]; probe_fma in f32 [n, 3], out f32 [n]; probe_loop out uint [1].
// Work: one invocation per element.
#version 450
#extension GL_GOOGLE_include_directive : require
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

#ifdef KERNEL_probe_loop
// Finds out whether the driver ends loops early, so it must loop further than any shader may; every trip is counted.
BUFFER(0, uint, counted);
layout(push_constant) uniform Args { uint counted_offset; uint wanted; };
void main() {
  uint count = 0u;
  // trips <= 65000   a lie told on purpose: the result says how many there were
  for (uint i = 0u; i < wanted; ++i) count += (i ^ count) < 0xffffffffu ? 1u : 2u;
  counted[counted_offset] = count;
}
#endif
