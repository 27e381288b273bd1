#include "engine/lab/machine.h"

#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>

#include <cmath>
#include <fstream>

#include "engine/lab/cpu_time.h"
#include "sync/affinity.h"

namespace tandem::sync_lab {
namespace {

// The first "model name" in /proc/cpuinfo.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

// The coarse clock advances once a tick.
double ticks_per_second() {
  timespec tick{};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0) return 0;
  const double seconds = static_cast<double>(tick.tv_sec) + static_cast<double>(tick.tv_nsec) * 1e-9;
  return seconds > 0 ? std::round(1 / seconds) : 0;
}

}  // namespace

double load_average_now() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

// Reads what the figures of a run depend on, so that runs on two machines can be compared.
MachineFacts read_machine_facts() {
  MachineFacts facts;
  facts.processor = processor_name();
  utsname name{};
  if (uname(&name) == 0) facts.system = std::string(name.sysname) + " " + name.release + " " + name.machine;
  facts.cores = usable_cores();
  facts.timer_hz = ticks_per_second();
  double load[3] = {};
  if (getloadavg(load, 3) == 3) facts.load_average.assign(load, load + 3);
  facts.load_average_at_end = load[0];
  facts.reading_seconds = reading_seconds();
  return facts;
}

// A run alone keeps about one core busy, so only the load before it is meaningful.
bool MachineFacts::quiet() const {
  constexpr double kIdle = 0.5;
  return !load_average.empty() && load_average[0] < kIdle;
}

}  // namespace tandem::sync_lab
