#include "engine/lab/cpu_time.h"

#include <time.h>

#include <vector>

#include "engine/plan/prediction/statistics.h"
#include "sync/error.h"

namespace tandem::sync_lab {
namespace {

double seconds_of(clockid_t clock) {
  timespec time{};
  TANDEM_CHECK(clock_gettime(clock, &time) == 0, "this system counts no processor time");
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

double thread_cpu_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }
double process_cpu_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

// The cost of one reading of the thread's clock, which measurements subtract. The median of many readings ignores
// interruptions, and is measured once.
double reading_seconds() {
  static const double seconds = [] {
    std::vector<double> differences;
    for (int i = 0; i < 101; ++i) {
      const double before = thread_cpu_seconds();
      differences.push_back(thread_cpu_seconds() - before);
    }
    return median(differences);
  }();
  return seconds;
}

}  // namespace tandem::sync_lab
