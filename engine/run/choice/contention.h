// Detects contention: other programs used the cores while something was measured.
//
// Method: compares the time for which this process's threads ran with the time for which they waited for a core. Time
// that a hypervisor took from the process's cores counts as waiting. A core that is slower because its other hardware
// thread is busy is not noticed.
//
// Source: /proc/self/task/*/schedstat (Linux, Documentation/scheduler/sched-stats) has the nanoseconds that a thread
// ran and waited on a run queue. /proc/stat (proc(5)) has the ticks stolen from each core, whichever program would have
// run there. If the system does not have these files, no contention is found.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace tandem {

struct CoreSeconds {
  double ran = 0, waited = 0;
};

// Sums over all threads that live now, with the time stolen from their cores. Only differences of two such sums have a
// meaning. Nothing: the system does not say.
std::optional<CoreSeconds> core_seconds();
// One thread's times, from the text of its schedstat file; nothing: the text has another form.
std::optional<CoreSeconds> core_seconds_in(const std::string& schedstat);
// Seconds stolen from these cores together, from the text of /proc/stat; 0 where it does not say.
double stolen_seconds_in(const std::string& stat, std::span<const int> cores, double ticks_per_second);

// True if threads waited for more than a quarter of the time they ran. (Measured on two cores: they waited 1 to 6 % of
// it when no other program ran, and 150 to 350 % beside two compilers. The engine's own threads share cores too.)
bool were_contended(const CoreSeconds& before, const CoreSeconds& after);

// Watches for contention from its construction on.
class ContentionWatch {
 public:
  bool found() const;  // so far; false if the system does not say

 private:
  std::optional<CoreSeconds> before_ = core_seconds();
};

}  // namespace tandem
