#include "engine/app/commands/sync/litmus_table.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/app/command.h"
#include "engine/app/interrupt.h"
#include "engine/app/report.h"
#include "engine/device/lab/lab.h"
#include "engine/lab/litmus_runs.h"
#include "engine/run/engine.h"
#include "sync/long_wait.h"

namespace tandem::app {
namespace {

constexpr const char* kHostThread = "host thread";

// One test between two sides, and what came of it.
struct LitmusRow {
  std::string left, right;
  LitmusTest test;
  LitmusCounts counts;
  std::string problem;  // why it could not run; "": it did
};

// Devices stay open until the last row. A device that meets itself is opened twice if that gives it a second queue.
class Sides {
 public:
  explicit Sides(const DeviceOptions& options) : options_(options) {
    options_.npu_cores.clear();  // a device without a fixed core takes one that the other side leaves free
  }
  // An agent on the device. again: for the second side of a pair of the device with itself.
  std::unique_ptr<LitmusAgent> agent(const std::string& id, bool again) {
    if (id == kHostThread) return make_thread_litmus_agent(id, {});
    const bool shared = device_factory(id).shares_workers;
    std::unique_ptr<Device>& device = open_[id + (again && !shared ? " again" : "")];
    DeviceOptions options = options_;
    if (!shared) options.gpu_cores.clear();
    if (!device) device = open_device(id, options);
    // Both sides must be at work at once. With a single worker the second kernel would begin when the first has ended.
    if (again && shared && device->info().compute_units < 2)
      throw Error("a device cannot meet itself", id, "its one worker runs one kernel at a time");
    return lab_of(*device).litmus_agent();
  }

 private:
  DeviceOptions options_;
  std::map<std::string, std::unique_ptr<Device>> open_;
};

// A row has either counts or the reason why the test did not run.
nlohmann::json to_json(const std::vector<LitmusRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const LitmusRow& row : rows) {
    nlohmann::json one = {{"left", row.left}, {"right", row.right}, {"test", name_of(row.test)}};
    if (!row.problem.empty()) {
      one["problem"] = row.problem;
    } else {
      one["launches"] = row.counts.launches;
      one["instances"] = row.counts.instances;
      one["together"] = row.counts.together;
      one["forbidden"] = row.counts.forbidden;
      for (const LitmusOutcome& outcome : row.counts.outcomes)
        one["outcomes"].push_back({{"what", outcome.what}, {"count", outcome.count}, {"forbidden", outcome.forbidden}});
    }
    list.push_back(std::move(one));
  }
  return {{"schema", "tandem-litmus-1"}, {"rows", std::move(list)}};
}

// Rows are printed and flushed one by one, because a test may last half a minute.
void print(const LitmusRow& row) {
  std::printf("%-12s %-12s %-16s ", row.left.c_str(), row.right.c_str(), name_of(row.test));
  if (!row.problem.empty()) {
    std::printf("not run: %s\n", row.problem.c_str());
    return;
  }
  std::printf("%9llu %9llu %9llu  ", static_cast<unsigned long long>(row.counts.instances),
              static_cast<unsigned long long>(row.counts.together),
              static_cast<unsigned long long>(row.counts.forbidden));
  const char* between = "";
  for (const LitmusOutcome& outcome : row.counts.outcomes) {
    std::printf("%s%s%s %llu", between, outcome.forbidden ? "FORBIDDEN " : "", outcome.what.c_str(),
                static_cast<unsigned long long>(outcome.count));
    between = ", ";
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

// Every pair runs every test in both roles. A pair that cannot run has the reason as its row. Both roles are needed,
// because the two sides of some tests do different things: one writes and the other reads. A forbidden outcome makes
// the command fail, but the rows after it still run.
int litmus_command(const CommonFlags& flags, const DeviceOptions& options, uint64_t iterations) {
  std::vector<std::string> sides = flags.engine.devices.empty() ? available_devices() : flags.engine.devices;
  // Host threads stand for the host device.
  std::erase_if(sides, [](const std::string& id) { return device_kind(id) == DeviceKind::host; });
  sides.insert(sides.begin(), kHostThread);
  Sides opened(options);
  std::vector<LitmusRow> rows;
  if (!flags.json) {
    std::printf("Memory ordering (counted): together is at how many instances both sides were there at once\n");
    std::printf("%-12s %-12s %-16s %9s %9s %9s  outcomes\n", "left", "right", "test", "instances", "together",
                "forbidden");
  }
  for (const std::string& left : sides) {
    for (const std::string& right : sides) {
      for (const LitmusTest test : litmus_tests()) {
        if (interrupted()) throw Interrupted();
        LitmusRow row{left, right, test, {}, ""};
        try {
          const auto a = opened.agent(left, false), b = opened.agent(right, left == right);
          row.counts = run_litmus(*a, *b, test, iterations);
        } catch (const Error& error) {
          row.problem = error.what();
        }
        if (!flags.json) print(row);
        rows.push_back(std::move(row));
      }
    }
  }
  if (flags.json) print_json(to_json(rows));
  const bool forbidden = std::ranges::any_of(rows, [](const LitmusRow& row) { return row.counts.forbidden > 0; });
  return forbidden ? kFailed : kDone;
}

}  // namespace tandem::app
