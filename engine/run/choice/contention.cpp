#include "engine/run/choice/contention.h"

#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "sync/affinity.h"
#include "sync/whole_file.h"

namespace tandem {

// A thread's schedstat begins with two numbers in nanoseconds: the time on a core, and the time in a run queue.
std::optional<CoreSeconds> core_seconds_in(const std::string& schedstat) {
  uint64_t ran = 0, waited = 0;
  const char* const end = schedstat.data() + schedstat.size();
  const auto first = std::from_chars(schedstat.data(), end, ran);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return std::nullopt;
  if (std::from_chars(first.ptr + 1, end, waited).ec != std::errc()) return std::nullopt;
  return CoreSeconds{static_cast<double>(ran) * 1e-9, static_cast<double>(waited) * 1e-9};
}

// A line of /proc/stat is "cpu3 user nice system idle iowait irq softirq steal ...", in ticks.
double stolen_seconds_in(const std::string& stat, std::span<const int> cores, double ticks_per_second) {
  double ticks = 0;
  for (const int core : cores) {
    const std::string name = "cpu" + std::to_string(core) + " ";
    const size_t at = stat.find(name);
    if (at == std::string::npos) continue;
    std::istringstream line(stat.substr(at + name.size(), stat.find('\n', at) - at - name.size()));
    double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    if (line >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal) ticks += steal;
  }
  return ticks / ticks_per_second;
}

// Adds up all threads of this process. In a virtual machine the host may take a core away, so stolen time counts as
// waiting too.
std::optional<CoreSeconds> core_seconds() {
  std::error_code error;
  std::optional<CoreSeconds> all;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::optional<std::string> text;
    try {
      text = read_file_if_there(task.path().string() + "/schedstat");
    } catch (const std::exception&) {
      continue;  // the thread has ended meanwhile
    }
    const auto one = text ? core_seconds_in(*text) : std::nullopt;
    if (!one) continue;
    if (!all) all.emplace();
    all->ran += one->ran;
    all->waited += one->waited;
  }
  try {
    const auto stat = all ? read_file_if_there("/proc/stat") : std::nullopt;
    if (stat) all->waited += stolen_seconds_in(*stat, usable_cores(), static_cast<double>(sysconf(_SC_CLK_TCK)));
  } catch (const std::exception&) {
    // The file may not be read here, so only the threads' waiting counts.
  }
  return all;
}

// The threads of a pass wait for each other's cores too. So waiting counts only beyond a quarter of the running time.
bool were_contended(const CoreSeconds& before, const CoreSeconds& after) {
  return after.waited - before.waited > (after.ran - before.ran) / 4;
}

// A system that does not say how long threads waited has no contention that could be seen.
bool ContentionWatch::found() const {
  const auto now = core_seconds();
  return before_ && now && were_contended(*before_, *now);
}

}  // namespace tandem
