#include "engine/lab/cache_line.h"

#include <utility>

#include "sync/ping_pong.h"

namespace tandem::sync_lab {

// A line travels only between two different cores, so the device's first core apart from the waiter's is taken.
std::vector<int> line_cores(int waiter_core, const std::vector<int>& device_cores) {
  for (const int core : device_cores) {
    if (core != waiter_core) return {waiter_core, core};
  }
  return {};
}

// Two readings, before and after the judged row, show whether the machine changed meanwhile. Both together are
// the limit.
CacheLine line_of(std::vector<int> cores, const std::vector<double>& before, const std::vector<double>& after) {
  CacheLine line;
  line.cores = std::move(cores);
  line.before_seconds = summarise(before).middle;
  line.after_seconds = summarise(after).middle;
  std::vector<double> both = before;
  both.insert(both.end(), after.begin(), after.end());
  line.round_trip = summarise(both);
  return line;
}

// Tries several times. A reading with few round trips means that another thread had one of the cores.
std::vector<double> LineMeter::read() const {
  constexpr int kRounds = 2000, kAttempts = 4;
  constexpr std::chrono::milliseconds kBudget{40};
  if (cores_.empty()) return {};
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::vector<double> times = sync::ping_pong(cores_[0], cores_[1], kRounds, kBudget);
    if (2 * times.size() >= kRounds) return times;  // otherwise one of the cores was in use
  }
  return {};
}

// The result gets a limit, or the reason why there is none.
void LineMeter::into(DeviceResult& result) const {
  if (cores_.empty()) {
    result.no_limit = result.cores.empty() ? "it is not known to work on a core of this machine"
                                           : "the waiting thread has its only core: no cache line changes hands";
  } else if (before_.empty() || after_.empty()) {
    result.no_limit = "one of the two cores was never free for long enough";
  } else {
    result.limit = line_of(cores_, before_, after_);
  }
}

}  // namespace tandem::sync_lab
