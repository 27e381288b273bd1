#include "engine/app/commands/sync/bench_sync_text.h"

#include <cmath>
#include <cstdio>
#include <sstream>

namespace tandem::app {
namespace {

using namespace sync_lab;

// Numbers stand right in their columns, words left.
std::string right(const std::string& text, size_t width) {
  return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
}

std::string left(const std::string& text, size_t width) {
  return text.size() >= width ? text : text + std::string(width - text.size(), ' ');
}

std::string cores(const std::vector<int>& list) {
  std::string text;
  for (const int core : list) text += (text.empty() ? "" : ",") + std::to_string(core);
  return text.empty() ? "unknown" : text;
}

// A column is its title, its width, and how a row fills it.
struct Column {
  const char* title;
  size_t width;
  std::string (*cell)(const SyncRow& row, const DeviceResult& device);
};

// The table's columns in order. An absent figure is an empty cell.
const Column kColumns[] = {
    {"steps", 6, [](const SyncRow& row, const DeviceResult&) { return std::to_string(row.round_trip.count); }},
    {"min", 9, [](const SyncRow& row, const DeviceResult&) { return microseconds(row.round_trip.min); }},
    {"p50", 9, [](const SyncRow& row, const DeviceResult&) { return microseconds(row.round_trip.p50); }},
    {"p90", 9, [](const SyncRow& row, const DeviceResult&) { return microseconds(row.round_trip.p90); }},
    {"p99", 9, [](const SyncRow& row, const DeviceResult&) { return microseconds(row.round_trip.p99); }},
    {"max", 9, [](const SyncRow& row, const DeviceResult&) { return microseconds(row.round_trip.max); }},
    {"overhead", 9, [](const SyncRow& row, const DeviceResult&) { return microseconds(row.overhead.p50); }},
    {">device", 8,
     [](const SyncRow& row, const DeviceResult&) {
       return row.to_device ? microseconds(row.to_device->p50) : std::string();
     }},
    {">host", 8,
     [](const SyncRow& row, const DeviceResult&) {
       return row.to_host ? microseconds(row.to_host->p50) : std::string();
     }},
    {"cpu", 8, [](const SyncRow& row, const DeviceResult&) { return microseconds(row.cpu_thread_seconds); }},
    {"cpu all", 9, [](const SyncRow& row, const DeviceResult&) { return microseconds(row.cpu_process_seconds); }},
    {"single/s", 11, [](const SyncRow& row, const DeviceResult&) { return number(row.single_per_second, 0); }},
    {"chain/s", 11, [](const SyncRow& row, const DeviceResult&) { return number(row.chained_per_second, 0); }},
    {"neighb.", 8,
     [](const SyncRow& row, const DeviceResult&) {
       return row.neighbour_slowdown ? number(*row.neighbour_slowdown * 100, 0) + " %" : std::string();
     }},
    {"x limit", 8,
     [](const SyncRow& row, const DeviceResult& device) {
       const auto times = device.times_limit(row);
       return times ? number(*times, 1) : std::string();
     }},
};

constexpr size_t kWorkWidth = 7, kPolicyWidth = 14;

// The heading stands once above each device's rows.
std::string heading() {
  std::string text = left("work", kWorkWidth) + left("policy", kPolicyWidth);
  for (const Column& column : kColumns) text += right(column.title, column.width);
  return text + "\n";
}

// A row that was not measured has its status and reason in place of all columns.
std::string line_of(const SyncRow& row, const DeviceResult& device) {
  std::string text = left(work_name(row.work_seconds), kWorkWidth) + left(name_of(row), kPolicyWidth);
  if (row.status != RowStatus::measured) return text + "  " + name_of(row.status) + ": " + row.reason + "\n";
  for (const Column& column : kColumns) text += right(column.cell(row, device), column.width);
  if (row.prediction_error) text += "  prediction off by " + number(*row.prediction_error * 100, 1) + " %";
  return text + "\n";
}

// The limit of the device itself. The ratios refer to it, and its target was judged by it. A card is judged by its bus,
// because no cache line passes between it and a core.
std::string limit_text(const DeviceResult& device) {
  if (device.bus)
    return "  limit: a read of the host's memory across the bus, " + microseconds(device.bus->round_trip.middle) +
           " us (mean of the middle half of " + std::to_string(device.bus->round_trip.count) +
           ", just before its rows)\n";
  if (device.own_memory) return "  limit: none, " + device.no_bus + "\n";
  if (!device.limit) return "  limit: none, " + device.no_limit + "\n";
  const CacheLine& line = *device.limit;
  return "  limit: a cache line between core " + cores({line.cores[0]}) + " and core " + cores({line.cores[1]}) + ", " +
         microseconds(line.round_trip.middle) + " us there and back (mean of the middle half of " +
         std::to_string(line.round_trip.count) + "; " + microseconds(line.before_seconds) + " before, " +
         microseconds(line.after_seconds) + " after the row that is judged by it)\n";
}

// The rows of one device in groups of one length of work, the crowded ones last. A blank line separates lengths of
// work. The crowded rows come behind the others and get a heading of their own.
void put_device(std::ostream& out, const DeviceResult& device) {
  out << "\n" << device.id << "  " << device.name << "\n";
  if (!device.problem.empty()) {
    out << "  cannot be used: " << device.problem << "\n";
    return;
  }
  if (!device.driver.empty()) out << "  driver " << device.driver << "\n";
  out << "  works on core " << cores(device.cores) << ", the waiting thread on core " << device.waiter_core
      << (device.shares_core ? " (shared)" : "") << "; measured, microseconds of round trips\n"
      << limit_text(device);
  out << heading();
  double last = -1;
  int spinners = 0;
  for (const SyncRow& row : device.rows) {
    if (row.spinners != spinners) {
      out << "more spinners than cores: " << row.spinners << " other threads spin, one on each core\n";
      spinners = row.spinners;
    } else if (last >= 0 && row.work_seconds != last) {
      out << "\n";
    }
    last = row.work_seconds;
    out << line_of(row, device);
  }
}

// Targets come last, so that they are on the screen when the command ends.
void put_targets(std::ostream& out, const std::vector<Target>& targets) {
  out << "\ntargets\n";
  for (const Target& target : targets) {
    out << "  "
        << left(!target.figure ? "-"
                : target.met() ? "met"
                               : "missed",
                8)
        << target.name << ": " << (target.figure ? number(*target.figure, 3) + " " + target.unit : "no figure")
        << " (wanted " << (target.at_least ? "at least " : "at most ") << number(target.bound, 2) << " " << target.unit
        << "); " << target.note << "\n";
  }
}

// The saving is computed from measured medians, and the heading says so.
void put_meaning(std::ostream& out, const DecodeMeaning& meaning) {
  out << "\nwhat it means: " << meaning.model << ", plan " << meaning.plan << ": a decode step has " << meaning.steps
      << " steps and " << meaning.waits << " waits\n"
      << "  saved per decode step against \"blocking\" (computed: waits x difference of the measured medians)\n";
  for (const DecodeSaving& saving : meaning.savings) {
    out << "  " << left(saving.device, 10) << left(name_of(saving.policy), kPolicyWidth)
        << right(std::to_string(saving.waits), 5) << " waits " << right(microseconds(saving.saved_seconds), 9)
        << " us\n";
  }
  for (const std::string& note : meaning.notes) out << "  note: " << note << "\n";
}

}  // namespace

std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// Times reach from nanoseconds to milliseconds, so the digits behind the point depend on the size.
std::string microseconds(double seconds) {
  const double us = seconds * 1e6, size = std::abs(us);
  return number(us, size < 1 ? 3 : size < 10 ? 2 : size < 100 ? 1 : 0);
}

// Lengths of work as the flag takes them: 250 us, 1.5 ms.
std::string work_name(double seconds) {
  if (seconds <= 0) return "empty";
  char text[32];
  if (seconds < 1e-3) {
    std::snprintf(text, sizeof text, "%g us", seconds * 1e6);
  } else {
    std::snprintf(text, sizeof text, "%g ms", seconds * 1e3);
  }
  return text;
}

// Facts first, then one table per device, the key to the columns, and the targets last.
std::string sync_text(const LabResult& result) {
  std::ostringstream out;
  const MachineFacts& machine = result.machine;
  out << machine.processor << ", cores " << cores(machine.cores) << ", " << machine.system << ", "
      << number(machine.timer_hz, 0) << " ticks a second, load average";
  for (const double load : machine.load_average) out << " " << number(load, 2);
  out << (machine.quiet() ? "" : " (not quiet)") << "\n";
  out << "reading the clock takes " << microseconds(result.clock_seconds) << " us, which is in each time\n";
  for (const DeviceResult& device : result.devices) put_device(out, device);
  out << "\nround trip: start() to the return of wait(). overhead: p50 less the work itself. >device, >host: one way, "
         "p50, "
         "where clocks compare.\ncpu: of the waiting thread in wait(); cpu all: of the process; a step each, "
         "microseconds.\nsingle/s: steps that the host starts one by one, each with its own launch, gate or ring, "
         "without a rest. chain/s: steps behind one signal; with event they are queued, with gate and doorbell the "
         "device goes on by itself, with the others as single/s.\nneighb.: what a thread computing on the waiter's "
         "core loses. x limit: overhead over the round trip of the device's cache line, or of a card's bus.\n"
         "launch+finish: a launch and its end through the driver, where a policy cannot be measured by itself.\n";
  if (result.decode) put_meaning(out, *result.decode);
  if (!result.warnings.empty()) out << "\n";
  for (const std::string& warning : result.warnings) out << "warning: " << warning << "\n";
  put_targets(out, result.targets);
  return out.str();
}

}  // namespace tandem::app
