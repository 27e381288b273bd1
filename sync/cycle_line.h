// The steady clock as one rising line over the cycle counter, through ties that were read one after the other.
//
// Every tie has an error of its own, some tens of nanoseconds, and more where the reading thread was interrupted.
// Counter values that are brought to the steady clock by different pairs of ties may change their order by as much. On
// one line they keep it, whenever they are asked for.
//
// Contract: pure values; one thread at a time. Between two ties the line is straight; before the first and behind the
// last one it goes on as beside them.
#pragma once

#include <cstdint>
#include <vector>

#include "sync/cycle_clock.h"

namespace tandem::sync {

class CycleLine {
 public:
  CycleLine() = default;
  explicit CycleLine(const ClockTie& first) : ties_{first} {}

  // A later tie. Where its error would turn the line back, the line goes on as it was.
  void extend(const ClockTie& later);
  double seconds(uint64_t cycles) const;  // steady clock; with a single tie: its moment

 private:
  std::vector<ClockTie> ties_;  // rising in both
};

}  // namespace tandem::sync
