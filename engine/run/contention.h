// Whether others had the cores while something was measured: what this process's threads waited for a core, and what a
// hypervisor took from the cores it may use, beside what its threads ran.
//
// Source: /proc/self/task/*/schedstat (Linux, Documentation/scheduler/sched-stats): nanoseconds run and waited on a run
// queue; /proc/stat (proc(5)): ticks stolen from each core, whoever would have run there. Where a system does not say,
// nothing is found. A core that runs slower, because its other hardware thread is busy, is not seen.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace tandem {

struct CoreSeconds {
  double ran = 0, waited = 0;
};

// All threads that live now, and what was stolen from their cores: a state, of which differences count.
std::optional<CoreSeconds> core_seconds();
// One thread's, from the text of its schedstat file; nothing where it is another text.
std::optional<CoreSeconds> core_seconds_in(const std::string& schedstat);
// Seconds stolen from these cores together, from the text of /proc/stat; 0 where it does not say.
double stolen_seconds_in(const std::string& stat, std::span<const int> cores, double ticks_per_second);

// True when threads waited for more than a quarter of the time they ran. (Measured on two cores: 1 to 6 % when nothing
// else ran, 150 to 350 % beside two compilers. The engine's own threads share cores too.)
bool were_contended(const CoreSeconds& before, const CoreSeconds& after);

// Watches from where it is made on.
class ContentionWatch {
 public:
  bool found() const;  // so far; false where the system does not say

 private:
  std::optional<CoreSeconds> before_ = core_seconds();
};

}  // namespace tandem
