// The end of a wait, in time in which this process ran.
//
// Contract: a wait is a loop of slices, with a look behind each. A slice that lasts much longer than it should means
// that the process was stopped (Ctrl-Z, a debugger, a virtual machine that pauses). The excess does not count, because
// the device that is waited for was stopped too. One thread.
#pragma once

#include <algorithm>
#include <chrono>

#include "sync/clock.h"

namespace tandem::sync {

// Pure: the sum of the times between looks, each cut to kMostCounted.
class RunningTime {
 public:
  static constexpr std::chrono::milliseconds kMostCounted{2000};
  explicit RunningTime(Clock::time_point begin) : last_(begin) {}
  Clock::duration at(Clock::time_point look) {
    counted_ += std::min<Clock::duration>(look - last_, kMostCounted);
    last_ = look;
    return counted_;
  }

 private:
  Clock::time_point last_;
  Clock::duration counted_{0};
};

class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds allowed) : allowed_(allowed), time_(Clock::now()) {}

  bool passed() { return left() < Clock::duration::zero(); }
  // How long to wait until the next look: what is left, at most kSlice and at least a millisecond.
  std::chrono::milliseconds slice() { return std::min(remaining(), kSlice); }
  std::chrono::milliseconds remaining() {
    using std::chrono::milliseconds;
    return std::max(std::chrono::duration_cast<milliseconds>(left()), milliseconds(1));
  }

 private:
  static constexpr std::chrono::milliseconds kSlice{500};
  Clock::duration left() { return allowed_ - time_.at(Clock::now()); }

  std::chrono::milliseconds allowed_;
  RunningTime time_;
};

}  // namespace tandem::sync
