// What a device proves before list kernels stamp their times: that it builds the counter's instruction, and that the counter is the host's.
//
// Layout: out: ulong [2], two stamps, one behind the other. Work mapping: one work-item.
#include "cycles.cl"

__kernel void cycles_probe(BUFFER(out)) {
  AT(volatile ulong, out)[0] = cycle_stamp();
  AT(volatile ulong, out)[1] = cycle_stamp();
}
