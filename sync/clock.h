// The only clock of measured times: the steady clock, which reads CLOCK_MONOTONIC on Linux and never goes back.
#pragma once

#include <chrono>

namespace tandem {

using Clock = std::chrono::steady_clock;

inline double now_seconds() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }
inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace tandem
