// Waits for and raises flags inside an in-order queue. The host fills the queue ahead, and only these kernels look
// at flags.
//
// Layout, orders, limits: flags.cl. Work mapping: one work-item.
#include "flags.cl"

__kernel void gate(BUFFER(flag), const uint epoch, BUFFER(state), const uint serial, const ulong spins) {
  wait_for_flag(PTR(volatile uint, flag), epoch, PTR(volatile uint, state), serial, spins);
}

__kernel void signal_flag(BUFFER(flag), const uint epoch, BUFFER(state)) {
  raise_flag(PTR(volatile uint, flag), epoch, PTR(volatile uint, state));
}
