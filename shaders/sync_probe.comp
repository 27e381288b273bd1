// A step of a waiting policy's probe: the work and the flag of kernels/doorbell.cl (probe_step). It runs in pieces,
// since lavapipe ends an invocation's loops after 65,535 iterations.
//
// Layout: line (engine/device/lab/stepped_probe.h), 16 words: 0 epoch, 4 value, 5 count of steps, 12 the chain so far.
// Orders: a step writes only to the flag's own line; it stores the epoch last, with release order.
// Work mapping: one invocation. Limits: links <= TANDEM_PROBE_LINKS a dispatch. `first` starts the chain, `last` raises
//   the flag.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_memory_scope_semantics : require
#include "limits.h"

layout(local_size_x = 1) in;
layout(set = 0, binding = 0, std430) volatile buffer line_block { uint line[]; };
layout(push_constant) uniform Args { uint line_offset, step_number, links, first, last; };

uint link(uint x) {
  x = x * 747796405u + 2891336453u;
  return x ^ (x >> 15);
}

void main() {
  uint x = first != 0u ? 0x9e3779b9u : line[line_offset + 12u];
  // trips <= TANDEM_PROBE_LINKS / 16
  for (uint i = 0u; i < links / 16u; ++i) {
    x = link(link(link(link(x))));
    x = link(link(link(link(x))));
    x = link(link(link(link(x))));
    x = link(link(link(link(x))));
  }
  // trips <= 15
  for (uint i = 0u; i < links % 16u; ++i) x = link(x);
  if (last == 0u) {
    line[line_offset + 12u] = x;
    return;
  }
  line[line_offset + 4u] = x + step_number;
  line[line_offset + 5u] += 1u;
  atomicStore(line[line_offset], step_number, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease);
}
