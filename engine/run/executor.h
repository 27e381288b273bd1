// Runs plans on devices: binds steps to programs once, then launches them again and again.
//
// Contract
//   start() launches every step without waiting in between (devices wait for each other by flags); wait() returns when
//   all devices are done with it. Several runs may be in flight: devices are in-order, so what two runs have on one
//   device runs in the order of their starts; what they have on different devices is not ordered, and a run that reads
//   what another one writes there is started when that one was waited for. In a plan that the NPU dominates (H7) GPU
//   steps that wait for other devices are launched when those have ended what is waited for: by wait(), or by the next
//   start(). wait() throws tandem::Error naming plan, step, flag and device when one fails or the deadline passes.
//   Then every run in flight that had not ended has failed as well, and its own wait() says so; the executor stays
//   usable. Threads: one executor, one thread (the orchestrator's). Ownership: devices and pool outlive the executor,
//   the executor its prepared plans and its runs; a prepared plan outlives its runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/device.h"
#include "engine/plan/plan.h"
#include "engine/run/timeline.h"
#include "engine/run/timeline_pass.h"
#include "sync/duration_predictor.h"
#include "sync/flag.h"
#include "sync/pool.h"
#include "sync/waiter.h"

namespace tandem {

struct ExecutorOptions {
  // How the end of a run is waited for (docs/sync.md). With "gate" the devices' queues are filled first, behind a flag
  // that is raised when all are.
  sync::Policy sync_policy = sync::Policy::predict;
  std::chrono::milliseconds deadline = sync::kWaitDeadline;  // of one run
  // Devices whose host threads share the orchestrator's core: it never spins for them.
  std::vector<std::string> shares_core;
};

class Executor;

class PreparedPlan {
 public:
  const Plan& plan() const { return plan_; }
  const sync::DurationPredictor& predictor() const { return predictor_; }  // of runs: its error, and what it has seen

 private:
  friend class Executor;
  Plan plan_;
  std::vector<Device*> devices_;                    // borrowed, per plan device
  std::vector<std::unique_ptr<Program>> programs_;  // per step
  // Per plan device: the steps of its thread in order, at one of the devices that work on that thread, nothing at the
  // others. Step i raises epoch i, counted from the run's base.
  std::vector<std::shared_ptr<const LaunchSequence>> sequences_;
  std::vector<int> last_steps_;  // per plan device; -1: it has none
  sync::DurationPredictor predictor_;
  std::vector<sync::DurationPredictor> submission_waits_;  // per step, of a plan that the NPU dominates
};

// Graphs that the NPU had to compile for a plan, a matmul shape each, and the time that its compiler would have taken:
// on the model clock, nobody waits for it.
struct GraphCompiles {
  int64_t graphs = 0;
  double seconds = 0;  // modelled
};

// What each of a plan's devices measured of a run, in order of execution.
using PassSpans = std::vector<std::vector<StepSpan>>;

// A plan that was started, until it is waited for. One that goes without (an exception passed it) is waited for by its
// destructor, which keeps what failed to itself.
class Run {
 public:
  Run(Run&& other) noexcept : executor_(std::exchange(other.executor_, nullptr)), base_(other.base_) {}
  Run& operator=(Run&& other) noexcept {  // what it was is waited for
    const Run before(std::move(*this));
    executor_ = std::exchange(other.executor_, nullptr);
    base_ = other.base_;
    return *this;
  }
  ~Run();

 private:
  friend class Executor;
  Run(Executor* executor, uint32_t base) : executor_(executor), base_(base) {}
  Executor* executor_;  // nullptr: it was waited for
  uint32_t base_;       // of its epochs
};

class Executor {
 public:
  Executor(sync::Pool& pool, std::vector<Device*> devices, ExecutorOptions options);

  std::unique_ptr<PreparedPlan> prepare(Plan plan);
  // measured: the devices measure it for whoever waits (nothing of those that cannot). What two measured runs of one
  // plan take while both are in flight goes to the first of them.
  Run start(PreparedPlan& prepared, bool measured = false);
  // Returns the wall time in seconds, from when the run could begin: from its start, or from when another run was found
  // to have left the last of its devices. spans: of a run that is measured.
  double wait(Run run, PassSpans* spans = nullptr);
  // Starts it and waits.
  double run(PreparedPlan& prepared, PassSpans* spans = nullptr);
  // A plan that nobody runs any more is destroyed when the next run's devices have their work, and nobody waits for it.
  void drop(std::unique_ptr<PreparedPlan> prepared) { dropped_.push_back(std::move(prepared)); }

  // Of the graphs whose number of tokens is not among `graph_tokens`, rising (plan `online`, H12).
  GraphCompiles compiles(const PreparedPlan& prepared, std::span<const int64_t> graph_tokens) const;

  // Spans of every run are added here until it is set to nullptr; gives what was set before. Measuring costs some time
  // on some devices.
  Timeline* record(Timeline* timeline);

 private:
  friend class Run;
  struct Flight {  // a run that nobody has waited for yet
    PreparedPlan* prepared = nullptr;
    uint32_t base = 0;
    double start = 0;
    bool measured = false;
    bool submitted = false;  // all of it; what a GPU follows the NPU with may be left to do
    PassSpans spans;
    std::exception_ptr failure;  // its own, or that of a run that took it along
  };
  Device& device(const std::string& id) const;
  Flight& flight_of(uint32_t base);
  bool shares_core(const PreparedPlan& prepared, size_t device) const;
  void launch_ready(PreparedPlan& prepared, uint32_t base);
  void submit_rest(uint32_t base);
  void make_sequences(PreparedPlan& prepared) const;
  PlannedLaunch planned_launch(const PreparedPlan& prepared, size_t step) const;
  bool gated(const PreparedPlan& prepared, size_t device) const;
  static bool follows(const PreparedPlan& prepared, size_t device);
  static void launch_on(const std::vector<size_t>& devices, const PreparedPlan& prepared, uint32_t base);
  void launch_following(PreparedPlan& prepared, uint32_t base);
  void await(PreparedPlan& prepared, int step, uint32_t base, sync::DurationPredictor& predictor);
  // Both: true where a wait slept longer than the work took.
  bool await_end(Flight& flight);
  bool wait_all(const Flight& flight);
  bool ended(const Flight& flight) const;
  double begin_of(const Flight& flight) const;
  bool is_last_on(const Flight& flight, const Device* device) const;
  void recover(Flight& failed, std::exception_ptr reason) noexcept;
  void measure(bool on);
  void take_spans();
  void land(uint32_t base) noexcept;
  void abandon(uint32_t base) noexcept;
  void add_to_timeline(const PreparedPlan& prepared, const PassSpans& measured, double start, double end);
  void add_modelled(const PreparedPlan& prepared, size_t device, int step, double start);

  std::vector<Device*> devices_;
  ExecutorOptions options_;
  sync::FlagBank bank_;
  sync::Flag gate_;
  std::map<std::string, sync::Flag> flags_;  // one per device
  std::unique_ptr<sync::Waiter> waiter_, blocking_;
  uint32_t epoch_ = 0;                       // the last one of the runs so far
  std::vector<Flight> flights_;              // in the order of their starts
  int measured_ = 0;                         // of them
  std::map<const Device*, double> free_at_;  // when a run was last found to have left it
  Timeline* timeline_ = nullptr;
  std::vector<std::unique_ptr<PreparedPlan>> dropped_;
};

}  // namespace tandem
