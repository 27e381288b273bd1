// The steady clock as one rising line over the cycle counter, drawn through ties that were read one after the other.
//
// Every tie has its own error: some tens of nanoseconds, and more when the reading thread was interrupted. Two counter
// values that are converted by different pairs of ties may swap their order by this much. One line keeps their order,
// whenever they are converted.
//
// Contract: pure values; one thread at a time. The line is straight between two ties. Before the first tie and behind
// the last one it continues the nearest straight part.
#pragma once

#include <cstdint>
#include <vector>

#include "sync/cycle_clock.h"

namespace tandem::sync {

class CycleLine {
 public:
  CycleLine() = default;
  explicit CycleLine(const ClockTie& first) : ties_{first} {}

  // Adds a later tie. If the tie's error would make the line fall, the line continues straight instead.
  void extend(const ClockTie& later);
  double seconds(uint64_t cycles) const;  // on the steady clock; with a single tie: the moment of that tie

 private:
  std::vector<ClockTie> ties_;  // cycles and seconds both rise
};

}  // namespace tandem::sync
