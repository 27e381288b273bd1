// Runs plans on devices: binds steps to programs once, then launches them again and again.
//
// Contract
//   run() launches every step without waiting in between (devices wait for each other by flags), then waits until all
//   devices are done. In a plan that the NPU dominates (H7) GPU steps that wait for other devices are launched when
//   those have ended what is waited for. It throws tandem::Error naming step, flag and device when one fails or the
//   deadline passes; the executor stays usable. Threads: one executor, one thread (the orchestrator's). Ownership:
//   devices and pool outlive the executor, the executor its prepared plans.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
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

class Executor {
 public:
  Executor(sync::Pool& pool, std::vector<Device*> devices, ExecutorOptions options);

  std::unique_ptr<PreparedPlan> prepare(Plan plan);
  // Returns the wall time in seconds. spans: gets what the devices measured of this run (nothing of those that cannot).
  double run(PreparedPlan& prepared, PassSpans* spans = nullptr);
  // A plan that nobody runs any more is destroyed when the next run's devices have their work, and nobody waits for it.
  void drop(std::unique_ptr<PreparedPlan> prepared) { dropped_.push_back(std::move(prepared)); }

  // Of the graphs whose number of tokens is not among `graph_tokens`, rising (plan `online`, H12).
  GraphCompiles compiles(const PreparedPlan& prepared, std::span<const int64_t> graph_tokens) const;

  // Spans of every run are added here until it is set to nullptr; gives what was set before. Measuring costs some time
  // on some devices.
  Timeline* record(Timeline* timeline);

 private:
  Device& device(const std::string& id) const;
  bool shares_core(const PreparedPlan& prepared, size_t device) const;
  void launch_all(PreparedPlan& prepared, uint32_t base);
  void make_sequences(PreparedPlan& prepared) const;
  PlannedLaunch planned_launch(const PreparedPlan& prepared, size_t step) const;
  bool gated(const PreparedPlan& prepared, size_t device) const;
  static bool follows(const PreparedPlan& prepared, size_t device);
  static void launch_on(const std::vector<size_t>& devices, const PreparedPlan& prepared, uint32_t base);
  void launch_following(PreparedPlan& prepared, uint32_t base);
  void await(PreparedPlan& prepared, int step, uint32_t base, sync::DurationPredictor& predictor);
  bool wait_all(PreparedPlan& prepared, uint32_t base, double start);  // true: slept longer than the work took
  void recover(PreparedPlan& prepared, uint32_t final_epoch) noexcept;
  PassSpans take_spans(const PreparedPlan& prepared) const;
  void add_to_timeline(const PreparedPlan& prepared, const PassSpans& measured, double start, double end);
  void add_modelled(const PreparedPlan& prepared, size_t device, int step, double start);

  std::vector<Device*> devices_;
  ExecutorOptions options_;
  sync::FlagBank bank_;
  sync::Flag gate_;
  std::map<std::string, sync::Flag> flags_;  // one per device
  std::unique_ptr<sync::Waiter> waiter_, blocking_;
  uint32_t epoch_ = 0;
  Timeline* timeline_ = nullptr;
  std::vector<std::unique_ptr<PreparedPlan>> dropped_;
};

}  // namespace tandem
