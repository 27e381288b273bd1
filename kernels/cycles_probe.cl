// A device runs this test before list kernels stamp their times. It shows that the compiler builds the counter's
// instruction, and that the device reads the host's counter.
//
// Layout: out: ulong [2], two consecutive stamps. Work mapping: one work-item.
#include "cycles.cl"

__kernel void cycles_probe(BUFFER(out)) {
  PTR(volatile ulong, out)[0] = cycle_stamp();
  PTR(volatile ulong, out)[1] = cycle_stamp();
}
