// Runs plans on devices: binds steps to programs once, then launches them again and again.
//
// Contract
//   start() launches every step without waiting in between, since devices wait for each other by flags. wait() returns
//   when all devices have ended the run.
//   Order: several runs may be in flight. Devices are in-order, so on one device the steps of two runs run in the order
//   of the runs' starts. Steps on different devices are not ordered. A run may read what another run writes on a
//   different device only if it starts after wait() for that other run.
//   NPU-dominant plans (H7): the orchestrator launches the GPU's steps one by one, each when the steps that it waits
//   for have ended. This happens in wait(), or in the next start().
//   Failure: wait() throws tandem::Error when a step fails or the deadline passes. The error names step, flag
//   and device. Every other run in flight that has not ended then fails too, and its own wait() says so. The
//   executor stays usable.
//   Threads: one executor, one thread (the orchestrator's).
//   Ownership: pool and devices outlive the executor. The executor outlives its prepared plans and its runs, and a
//   prepared plan outlives its runs.
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
#include "engine/run/pass/timeline.h"
#include "engine/run/pass/timeline_pass.h"
#include "sync/duration_predictor.h"
#include "sync/flag.h"
#include "sync/pool.h"
#include "sync/waiter.h"

namespace tandem {

struct ExecutorOptions {
  // How the executor waits for the end of a run (docs/sync.md). With "gate" it first fills the devices' queues behind a
  // flag, and then raises the flag.
  sync::Policy sync_policy = sync::Policy::predict;
  // Of one run. The default is longer for plans with much work (pass_deadline()).
  std::chrono::milliseconds deadline = sync::kWaitDeadline;
  // Devices whose host threads share the orchestrator's core. Waits for them never spin.
  std::vector<std::string> shares_core;
};

class Executor;

// A plan with the programs that its devices made of its steps. Made by Executor::prepare().
class PreparedPlan {
 public:
  const Plan& plan() const { return plan_; }
  const sync::DurationPredictor& predictor() const { return predictor_; }  // of the time of its runs

 private:
  friend class Executor;
  Plan plan_;
  std::vector<Device*> devices_;                    // borrowed, one for each device of the plan
  std::vector<std::unique_ptr<Program>> programs_;  // one for each step
  // One for each device of the plan: the launches of its steps, in order. Devices on one thread share a sequence. It
  // stands at the first of them, and the others have none. Step i raises epoch i, counted from the run's base.
  std::vector<std::shared_ptr<const LaunchSequence>> sequences_;
  std::chrono::milliseconds deadline_{};
  std::vector<int> last_steps_;  // index of each device's last step; -1: it has no step
  sync::DurationPredictor predictor_;
  std::vector<sync::DurationPredictor> submission_waits_;  // one for each step, in a plan that the NPU dominates
};

// Graphs that the NPU would have to compile for a plan: one for each shape of a matmul. The compile time is on the
// model clock, so no thread waits for it.
struct GraphCompiles {
  int64_t graphs = 0;
  double seconds = 0;  // modelled
};

// The spans that each device of a plan measured during a run, in order of execution.
using PassSpans = std::vector<std::vector<StepSpan>>;

// A run in flight; wait() ends it. If it is destroyed before, for example by an exception, its destructor waits for it
// and reports no failure.
class Run {
 public:
  Run(Run&& other) noexcept : executor_(std::exchange(other.executor_, nullptr)), base_(other.base_) {}
  Run& operator=(Run&& other) noexcept {  // waits for the run that it replaces
    const Run before(std::move(*this));
    executor_ = std::exchange(other.executor_, nullptr);
    base_ = other.base_;
    return *this;
  }
  ~Run();

 private:
  friend class Executor;
  Run(Executor* executor, uint32_t base) : executor_(executor), base_(base) {}
  Executor* executor_;  // nullptr: the run was moved, as wait() does
  uint32_t base_;       // its epochs count from here
};

class Executor {
 public:
  Executor(sync::Pool& pool, std::vector<Device*> devices, ExecutorOptions options);

  // whole_pass: the plan has all operators of a pass. Intermediate values that one of its devices alone touches stay in
  // that device's memory then.
  std::unique_ptr<PreparedPlan> prepare(Plan plan, bool whole_pass = false);
  // measured: the devices measure the run, and wait() returns the spans. Devices that cannot measure give no spans. If
  // two measured runs of one plan are in flight at once, the first one gets the spans of both.
  Run start(PreparedPlan& prepared, bool measured = false);
  // Returns the run's wall time in seconds. It counts from start(), or from the time when wait() saw an earlier run
  // leave the last of its devices, if that was later. spans: receives the spans of a measured run.
  double wait(Run run, PassSpans* spans = nullptr);
  // start() and wait().
  double run(PreparedPlan& prepared, PassSpans* spans = nullptr);
  // Takes a plan that will not run again. The next start() destroys it after its launches, so the
  // devices work meanwhile.
  void drop(std::unique_ptr<PreparedPlan> prepared) { dropped_.push_back(std::move(prepared)); }

  // The graphs of the plan whose number of tokens is not among `graph_tokens`, which rise (plan `online`, H12).
  GraphCompiles compiles(const PreparedPlan& prepared, std::span<const int64_t> graph_tokens) const;

  // Adds the spans of every run to the timeline from now on; nullptr ends that. Returns the timeline that was set
  // before. Measuring takes some time on some devices.
  Timeline* record(Timeline* timeline);
  Timeline* timeline() const { return timeline_; }

 private:
  friend class Run;
  struct Flight {  // a run that wait() has not ended yet
    PreparedPlan* prepared = nullptr;
    uint32_t base = 0;
    double start = 0;
    bool measured = false;
    bool submitted = false;  // everything is launched, also GPU steps that follow the NPU
    PassSpans spans;
    std::exception_ptr failure;  // its own failure, or the Error that it was lost by the failure of another run
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
  // Both return true if a wait slept longer than the work took.
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
  std::map<std::string, sync::Flag> flags_;  // by device id
  std::unique_ptr<sync::Waiter> waiter_, blocking_;
  uint32_t epoch_ = 0;                       // the last one of the runs so far
  std::vector<Flight> flights_;              // in the order of their starts
  int measured_ = 0;                         // how many of these runs are measured
  std::map<const Device*, double> free_at_;  // when wait() last saw a run leave the device
  Timeline* timeline_ = nullptr;
  std::vector<std::unique_ptr<PreparedPlan>> dropped_;
};

}  // namespace tandem
