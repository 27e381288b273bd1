// The facts about a machine without which its waiting times cannot be read.
#pragma once

#include <string>
#include <vector>

namespace tandem::sync_lab {

struct MachineFacts {
  std::string processor, system;     // "AMD EPYC", "Linux 6.1.0 x86_64"
  std::vector<int> cores;            // this process may use
  double timer_hz = 0;               // the kernel's ticks a second; 0: unknown
  std::vector<double> load_average;  // 1, 5 and 15 minutes, when the run began
  double load_average_at_end = 0;    // 1 minute
  double reading_seconds = 0;        // of the thread's processor time
  bool quiet() const;                // nobody else wanted the cores, as far as the load tells
};

MachineFacts read_machine_facts();
double load_average_now();  // 1 minute; 0: unknown

}  // namespace tandem::sync_lab
