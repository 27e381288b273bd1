// The processor's cycle counter, tied to the steady clock.
//
// Kernels on a CPU device can read this counter too, so both ends of a hand-over can be timed.
//
// Contract: the counter must run at one rate on every core and in every sleep state (x86 with an invariant TSC).
// Elsewhere cycle_counter_usable() is false and no other function may be called. A time between two ties is
// interpolated, so the counter's rate need not be known. The error is that of the ties, some tens of nanoseconds.
// Threads: any.
#pragma once

#include <cstdint>

namespace tandem::sync {

bool cycle_counter_usable();
uint64_t read_cycles();

// One moment on both clocks.
struct ClockTie {
  uint64_t cycles = 0;
  double seconds = 0;  // steady clock
};
ClockTie tie_clocks();  // the most exact of a few readings

// Steady-clock seconds of a counter value that lies between (or close to) two different ties. Pure.
double seconds_of(uint64_t cycles, const ClockTie& before, const ClockTie& after);

}  // namespace tandem::sync
