// Facts about a machine that are needed to interpret its waiting times.
#pragma once

#include <string>
#include <vector>

namespace tandem::sync_lab {

struct MachineFacts {
  std::string processor, system;     // "AMD EPYC", "Linux 6.1.0 x86_64"
  std::vector<int> cores;            // cores that this process may use
  double timer_hz = 0;               // the kernel's ticks a second; 0: unknown
  std::vector<double> load_average;  // 1, 5 and 15 minutes, when the run began
  double load_average_at_end = 0;    // 1 minute
  double reading_seconds = 0;        // time that a reading of the thread's processor time takes
  bool quiet() const;                // no other process wanted the cores, as far as the load shows
};

MachineFacts read_machine_facts();
double load_average_now();  // 1 minute; 0: unknown

}  // namespace tandem::sync_lab
