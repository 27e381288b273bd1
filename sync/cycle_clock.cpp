#include "sync/cycle_clock.h"

#include "sync/clock.h"
#include "sync/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tandem::sync {

#if defined(__x86_64__)

// An invariant counter has one rate at any core frequency and in any sleep state. Other counters do not measure time.
bool cycle_counter_usable() {
  static const bool usable = [] {
    constexpr unsigned kPowerLeaf = 0x80000007, kInvariantBit = 1u << 8;  // EDX: "TSC invariant"
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(kPowerLeaf, &a, &b, &c, &d) != 0 && (d & kInvariantBit) != 0;
  }();
  return usable;
}

// The instruction does not wait for earlier ones, so a reading may be a little early.
uint64_t read_cycles() { return __builtin_ia32_rdtsc(); }

#else

bool cycle_counter_usable() { return false; }
uint64_t read_cycles() { throw Error("this processor's cycle counter is not used", "cycle clock"); }

#endif

// Each of the readings puts the steady clock between two counter values. The narrowest pair has the smallest error.
ClockTie tie_clocks() {
  constexpr int kReadings = 5;
  ClockTie best;
  uint64_t narrowest = UINT64_MAX;
  for (int i = 0; i < kReadings; ++i) {
    const uint64_t before = read_cycles();
    const double seconds = now_seconds();
    const uint64_t after = read_cycles();
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    best = {before + narrowest / 2, seconds};
  }
  return best;
}

// Interpolates. The signed difference also serves counter values before the first tie.
double seconds_of(uint64_t cycles, const ClockTie& before, const ClockTie& after) {
  TANDEM_CHECK(before.cycles != after.cycles, "two ties of the same moment have no rate");
  const auto difference = [](uint64_t a, uint64_t b) { return static_cast<double>(static_cast<int64_t>(a - b)); };
  const double rate = (after.seconds - before.seconds) / difference(after.cycles, before.cycles);
  return before.seconds + difference(cycles, before.cycles) * rate;
}

}  // namespace tandem::sync
