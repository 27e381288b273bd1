#include "sync/cycle_line.h"

#include <algorithm>
#include <iterator>

#include "sync/error.h"

namespace tandem::sync {

// A tie that would make the line fall is moved onto the line's continuation. With a single tie there is no line to
// continue, so such a tie is dropped.
void CycleLine::extend(const ClockTie& later) {
  if (!ties_.empty() && later.cycles <= ties_.back().cycles) return;
  ClockTie next = later;
  if (ties_.size() > 1 && next.seconds <= ties_.back().seconds) next.seconds = seconds(next.cycles);
  if (ties_.empty() || next.seconds > ties_.back().seconds) ties_.push_back(next);
}

// Takes the two ties around the value, or the two outermost ones on its side.
double CycleLine::seconds(uint64_t cycles) const {
  TANDEM_CHECK(!ties_.empty(), "a line through no tie");
  if (ties_.size() == 1) return ties_.front().seconds;
  const auto beyond = std::ranges::upper_bound(ties_, cycles, {}, &ClockTie::cycles);
  const auto after = std::clamp(beyond, std::next(ties_.begin()), std::prev(ties_.end()));
  return seconds_of(cycles, *std::prev(after), *after);
}

}  // namespace tandem::sync
