#include "engine/lab/sync_lab.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "engine/device/lab/lab.h"
#include "engine/lab/cache_line.h"
#include "engine/lab/core_load.h"
#include "engine/lab/litmus_runs.h"
#include "engine/lab/measure_policy.h"
#include "engine/lab/targets.h"
#include "sync/affinity.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "sync/ping_pong.h"
#include "sync/waiter.h"

namespace tandem::sync_lab {
namespace {

bool contains(const std::vector<int>& cores, int core) { return std::ranges::find(cores, core) != cores.end(); }

std::string text_of(double seconds) {
  char text[32];
  const bool short_one = seconds < 1e-3;
  std::snprintf(text, sizeof text, short_one ? "%.3g us" : "%.3g ms", seconds * (short_one ? 1e6 : 1e3));
  return text;
}

std::vector<sync::Policy> all_policies() { return {std::begin(sync::kPolicies), std::end(sync::kPolicies)}; }

// Measures device after device, then adds warnings and targets to the result.
class Lab {
 public:
  explicit Lab(const LabOptions& options)
      : options_(options),
        policies_(options.policies.empty() ? all_policies() : options.policies),
        usable_(usable_cores()) {}

  // Facts of the machine are read at both ends, since load that came meanwhile disturbs the figures.
  LabResult run() {
    const double begin = now_seconds();
    result_.machine = read_machine_facts();
    result_.clock_seconds = sync::clock_seconds();
    for (const std::string& id : options_.devices) result_.devices.push_back(measure_device(id));
    result_.machine.load_average_at_end = load_average_now();
    result_.warnings = warnings();
    result_.targets = judge(result_);
    result_.seconds = now_seconds() - begin;
    return std::move(result_);
  }

 private:
  // Opens the device, pins this thread to the waiter's core, and measures the rows. The last rows have a spinning
  // thread on every core.
  DeviceResult measure_device(const std::string& id) {
    DeviceResult result;
    result.id = id;
    std::unique_ptr<Device> device;
    try {
      device = open_device(id, options_.device_options);
    } catch (const Error& error) {
      result.problem = error.what();
      return result;
    }
    result.name = device->info().name;
    result.driver = device->info().driver;
    result.cores = device->info().cores;
    result.own_memory = device->info().own_memory;
    result.waiter_core = waiter_core(options_.layout, usable_, result.cores);
    result.shares_core = contains(result.cores, result.waiter_core);
    const int cores[] = {result.waiter_core};
    // The thread gets its own cores back when `pinned` goes.
    const OnCores pinned(cores);
    LineMeter line(line_cores(result.waiter_core, result.cores));
    // The outer loop is over lengths and the inner one over policies, so that compared rows are measured shortly
    // after each other.
    if (result.own_memory) measure_bus(*device, result);
    for (const double work : options_.work_seconds) {
      bool all = true;
      for (const sync::Policy policy : policies_) {
        // Only the shortest steps are judged by the cache line, because the hand-over is nearly all of their time.
        const bool judged = work == *std::ranges::min_element(options_.work_seconds) && policy == judged_policy();
        announce(id, name_of(policy), work, "");
        if (judged) line.read_before();
        result.rows.push_back(measure_policy(*device, request(result, policy, work)));
        if (judged) line.read_after();
        all = all && result.rows.back().status != RowStatus::off;
      }
      // A policy that is off has no figure, so the driver's own launch stands in for it.
      if (all) continue;
      announce(id, "launch+finish", work, "");
      result.rows.push_back(measure_launch(*device, request(result, sync::Policy::blocking, work)));
    }
    result.own_memory ? no_line(result) : line.into(result);
    for (const sync::Policy policy : policies_) {
      RowRequest crowded = request(result, policy, crowded_work());
      crowded.spinner_cores = usable_;
      crowded.neighbour_seconds = 0;
      crowded.rounds = options_.quick ? kQuickCrowdedRounds : kCrowdedRounds;
      announce(id, name_of(policy), crowded.work_seconds, ", more spinners than cores");
      result.rows.push_back(measure_policy(*device, crowded));
    }
    return result;
  }

  // The policy whose row is judged by the cache line, which is measured around that row.
  sync::Policy judged_policy() const {
    const auto doorbell = std::ranges::find(policies_, sync::Policy::doorbell);
    return doorbell == policies_.end() ? policies_.front() : *doorbell;
  }

  // Lengths of passes and runs; --quick uses short ones.
  RowRequest request(const DeviceResult& device, sync::Policy policy, double work) const {
    constexpr double kNeighbour = 0.08, kQuickNeighbour = 0.01, kRow = 0.6, kQuickRow = 0.1, kChain = 0.03,
                     kQuickChain = 0.005;
    RowRequest request;
    request.policy = policy;
    request.work_seconds = work;
    request.rounds = options_.rounds > 0 ? options_.rounds : default_rounds(work, options_.quick);
    request.row_seconds = options_.quick ? kQuickRow : kRow;
    request.neighbour_seconds = options_.quick ? kQuickNeighbour : kNeighbour;
    request.chain_seconds = options_.quick ? kQuickChain : kChain;
    request.waiter_core = device.waiter_core;
    request.check = options_.check;
    return request;
  }

  // The measured length nearest to 100 us: long enough to lose the core meanwhile, short enough for many steps.
  double crowded_work() const {
    static constexpr double kWanted = 100e-6, kEmpty = 1e-6;  // length that an empty step counts as
    return *std::ranges::min_element(options_.work_seconds, {},
                                     [](double work) { return std::abs(std::log(std::max(work, kEmpty) / kWanted)); });
  }

  // Says what is measured next, and lets Ctrl-C end the run between two rows.
  void announce(const std::string& id, const std::string& policy, double work, const char* how) const {
    if (options_.check) options_.check();
    if (options_.progress) options_.progress(id + ", " + policy + ", steps of " + text_of(work) + how);
  }

  // Measures the bus just before a card's empty steps.
  void measure_bus(Device& device, DeviceResult& result) const {
    constexpr int kRounds = 50, kQuickRounds = 10;
    if (options_.check) options_.check();
    if (options_.progress) options_.progress(result.id + ", reads across the bus");
    try {
      const std::unique_ptr<LitmusAgent> agent = lab_of(device).litmus_agent();
      result.bus = BusTrip{summarise(dependent_read_seconds(*agent, options_.quick ? kQuickRounds : kRounds))};
    } catch (const Error& error) {
      result.no_bus = error.what();
    }
  }

  static void no_line(DeviceResult& result) {
    result.no_limit = "it is a card behind a bus, which no cache line crosses";
  }

  // Warns of everything that makes figures of this run less reliable.
  std::vector<std::string> warnings() const {
    std::vector<std::string> texts;
    if (!result_.machine.quiet())
      texts.push_back(
          "the machine was not quiet when the run began (load average in the facts): medians may hold, tails do not");
    if (options_.quick) texts.push_back("--quick: few rounds, percentiles above the median mean little");
    // Measured on virtual machines of Zen 5 at 4.3 GHz: 0.08 us and more between cores, 0.07 and less inside one.
    constexpr double kInsideOneCore = 78e-9;
    for (const DeviceResult& device : result_.devices) {
      if (device.shares_core)
        texts.push_back(device.id + ": the waiting thread shares a core with the device's own threads");
      const std::string& none = device.own_memory ? device.no_bus : device.no_limit;
      if (!none.empty()) texts.push_back(device.id + ": no limit, " + none);
      if (device.limit && device.limit->round_trip.middle < kInsideOneCore) {
        texts.push_back(device.id + ": the two cores hand a line over in " + text_of(device.limit->round_trip.middle) +
                        " there and back: probably they are two threads of one core, where no line has to travel and "
                        "the instructions of both sides count; ratios to this limit are not those between cores");
      }
      // Only polling policies count here, so blocking and event are left out.
      double least = 0, worst = 0;
      for (const SyncRow& row : device.rows) {
        if (row.status != RowStatus::measured || row.policy == sync::Policy::blocking ||
            row.policy == sync::Policy::event)
          continue;
        if (row.spinners > 0) worst = std::max(worst, row.round_trip.max);
        if (row.spinners == 0 && row.work_seconds == crowded_work())
          least = least == 0 ? row.round_trip.p50 : std::min(least, row.round_trip.p50);
      }
      if (worst > 0) {
        texts.push_back(device.id + ": with more spinners than cores a polling wait took up to " + text_of(worst) +
                        " instead of " + text_of(least) +
                        ": who polls on a core that somebody needs waits for the scheduler; use blocking there");
      }
    }
    return texts;
  }

  static constexpr int kCrowdedRounds = 40, kQuickCrowdedRounds = 8;

  const LabOptions& options_;
  const std::vector<sync::Policy> policies_;
  const std::vector<int> usable_;
  LabResult result_;
};

}  // namespace

// Passes wait on the orchestrator's core, so the lab prefers it. If the device works there too, another usable core
// is better.
int waiter_core(const CoreLayout& layout, const std::vector<int>& usable, const std::vector<int>& device_cores) {
  if (!contains(device_cores, layout.orchestrator)) return layout.orchestrator;
  for (const int core : usable) {
    if (!contains(device_cores, core)) return core;
  }
  return layout.orchestrator;
}

LabResult run_sync_lab(const LabOptions& options) { return Lab(options).run(); }

}  // namespace tandem::sync_lab
