#include "engine/run/executor.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <thread>
#include <utility>

#include "engine/device/lab/lab.h"
#include "engine/plan/partition/matmul_shape.h"
#include "engine/run/timeline_pass.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr const char* kLateAdvice = "--deadline gives it longer";

// Devices record for as long as it lives.
class Recorded {
 public:
  Recorded(const std::vector<Device*>& devices, bool on) : devices_(on ? devices : std::vector<Device*>()) {
    for (Device* device : devices_) lab_of(*device).record_spans(true);
  }
  ~Recorded() {
    for (Device* device : devices_) lab_of(*device).record_spans(false);
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

 private:
  const std::vector<Device*> devices_;
};

// The device in whose sequence each one's steps are launched: the first that works on the same thread.
std::vector<size_t> leaders(const std::vector<Device*>& devices) {
  const auto thread = [&](size_t d) {
    const DeviceInfo& info = devices[d]->info();
    return info.thread_of.empty() ? info.id : info.thread_of;
  };
  std::vector<size_t> lead(devices.size());
  for (size_t d = 0; d < devices.size(); ++d) {
    while (thread(lead[d]) != thread(d)) ++lead[d];
  }
  return lead;
}

}  // namespace

Executor::Executor(sync::Pool& pool, std::vector<Device*> devices, ExecutorOptions options)
    : devices_(std::move(devices)),
      options_(std::move(options)),
      bank_(pool, static_cast<uint32_t>(devices_.size()) + 1, "executor flags"),
      gate_(bank_.make("gate of the run")),
      waiter_(sync::make_waiter(options_.sync_policy)),
      blocking_(sync::make_waiter(sync::Policy::blocking)) {
  for (Device* device : devices_) flags_.emplace(device->info().id, bank_.make(device->info().id + " done"));
}

Device& Executor::device(const std::string& id) const {
  for (Device* device : devices_) {
    if (device->info().id == id) return *device;
  }
  throw Error("the plan names a device that is not open", id, "See `tandem devices`");
}

std::unique_ptr<PreparedPlan> Executor::prepare(Plan plan) {
  // Where plans are made but none is run, at most one waits to be destroyed.
  if (dropped_.size() > 1) dropped_.erase(dropped_.begin(), dropped_.end() - 1);
  auto prepared = std::make_unique<PreparedPlan>();
  for (const std::string& id : plan.devices) prepared->devices_.push_back(&device(id));
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    prepared->programs_.push_back(prepared->devices_[step.device]->prepare(step.operators));
  }
  prepared->plan_ = std::move(plan);
  make_sequences(*prepared);
  return prepared;
}

void Executor::make_sequences(PreparedPlan& prepared) const {
  const std::vector<size_t> lead = leaders(prepared.devices_);
  std::vector<std::vector<PlannedLaunch>> launches(prepared.devices_.size());
  prepared.last_steps_.assign(prepared.devices_.size(), -1);
  for (size_t i = 0; i < prepared.plan_.steps.size(); ++i) {
    const auto d = static_cast<size_t>(prepared.plan_.steps[i].device);
    prepared.last_steps_[d] = static_cast<int>(i);
    if (!follows(prepared, d)) launches[lead[d]].push_back(planned_launch(prepared, i));
  }
  prepared.sequences_.resize(launches.size());
  for (size_t d = 0; d < launches.size(); ++d) {
    if (launches[d].empty()) continue;
    std::vector<sync::WaitFor>& waits = launches[d].front().waits;
    if (gated(prepared, d)) waits.insert(waits.begin(), {gate_, 0});
    prepared.sequences_[d] = make_sequence(*prepared.devices_[d], std::move(launches[d]));
  }
}

GraphCompiles Executor::compiles(const PreparedPlan& prepared, std::span<const int64_t> graph_tokens) const {
  GraphCompiles compiles;
  std::set<MatMulShape> seen;
  for (size_t i = 0; i < prepared.plan_.steps.size(); ++i) {
    const Step& step = prepared.plan_.steps[i];
    if (!prepared.devices_[static_cast<size_t>(step.device)]->info().static_graphs) continue;
    for (const Operator& op : step.operators) {
      const auto* matmul = std::get_if<MatMul>(&op.body);
      if (matmul == nullptr || std::ranges::binary_search(graph_tokens, matmul->S)) continue;
      if (!seen.insert(shape_of(*matmul)).second) continue;
      const auto graph = prepared.devices_[static_cast<size_t>(step.device)]->prepare(std::span(&op, 1));
      compiles.seconds += graph->compile_seconds();
      ++compiles.graphs;
    }
  }
  return compiles;
}

PlannedLaunch Executor::planned_launch(const PreparedPlan& prepared, size_t index) const {
  const auto flag_of = [&](const Step& step) {
    return flags_.at(prepared.plan_.devices[static_cast<size_t>(step.device)]);
  };
  const Step& step = prepared.plan_.steps[index];
  PlannedLaunch planned{prepared.programs_[index].get(), {}, {}};
  for (const int awaited : step.waits)
    planned.waits.push_back(
        {flag_of(prepared.plan_.steps[static_cast<size_t>(awaited)]), static_cast<uint32_t>(awaited)});
  if (step.signals) planned.signal = {flag_of(step), static_cast<uint32_t>(index)};
  return planned;
}

Timeline* Executor::record(Timeline* timeline) {
  Timeline* const before = std::exchange(timeline_, timeline);
  for (Device* device : devices_) lab_of(*device).record_spans(timeline != nullptr);
  return before;
}

double Executor::run(PreparedPlan& prepared, PassSpans* spans) {
  const Recorded recorded(prepared.devices_, spans != nullptr && timeline_ == nullptr);
  const uint32_t base = epoch_ + 1;
  epoch_ += static_cast<uint32_t>(prepared.plan_.steps.size()) + 1;
  const double start = now_seconds();
  bool overslept = false;
  try {
    launch_all(prepared, base);
    dropped_.clear();
    overslept = wait_all(prepared, base, start);
  } catch (...) {
    recover(prepared, epoch_);
    throw;
  }
  const double end = now_seconds();
  overslept ? prepared.predictor_.observe_overslept() : prepared.predictor_.observe(end - start);
  if (timeline_ || spans) {
    PassSpans measured = take_spans(prepared);
    if (timeline_) add_to_timeline(prepared, measured, start, end);
    if (spans) *spans = std::move(measured);
  }
  return end - start;
}

bool Executor::shares_core(const PreparedPlan& prepared, size_t device) const {
  return std::ranges::find(options_.shares_core, prepared.plan_.devices[device]) != options_.shares_core.end();
}

void Executor::launch_all(PreparedPlan& prepared, uint32_t base) {
  if (prepared.plan_.dominant == Dominant::npu) return launch_following(prepared, base);
  // Devices that share the orchestrator's core come last: once they have work, they may keep that core from launching
  // the rest. The gate is opened before them: they must not wait for it on this very core.
  std::vector<size_t> apart, sharing;
  for (size_t d = 0; d < prepared.devices_.size(); ++d) (shares_core(prepared, d) ? sharing : apart).push_back(d);
  launch_on(apart, prepared, base);
  if (options_.sync_policy == sync::Policy::gate) gate_.raise(base);
  launch_on(sharing, prepared, base);
}

// Whether the device's first step waits for the gate.
bool Executor::gated(const PreparedPlan& prepared, size_t device) const {
  return options_.sync_policy == sync::Policy::gate && prepared.plan_.dominant == Dominant::gpu &&
         !shares_core(prepared, device);
}

void Executor::launch_on(const std::vector<size_t>& devices, const PreparedPlan& prepared, uint32_t base) {
  for (const size_t d : devices) {
    if (prepared.sequences_[d]) prepared.devices_[d]->launch(prepared.sequences_[d], base);
  }
}

// H7, NPU-dominant: the host submits each step of a GPU when those that it waits for have ended.
bool Executor::follows(const PreparedPlan& prepared, size_t device) {
  return prepared.plan_.dominant == Dominant::npu && prepared.devices_[device]->info().kind == DeviceKind::gpu;
}

// The queues of all others are filled before.
void Executor::launch_following(PreparedPlan& prepared, uint32_t base) {
  std::vector<size_t> all(prepared.devices_.size());
  std::iota(all.begin(), all.end(), size_t{0});
  launch_on(all, prepared, base);
  prepared.submission_waits_.resize(prepared.plan_.steps.size());
  for (size_t i = 0; i < prepared.plan_.steps.size(); ++i) {
    const Step& step = prepared.plan_.steps[i];
    const auto d = static_cast<size_t>(step.device);
    if (!follows(prepared, d)) continue;
    const PlannedLaunch planned = counted_from(base, planned_launch(prepared, i));
    for (const int awaited : step.waits) await(prepared, awaited, base, prepared.submission_waits_[i]);
    launch_one(*prepared.devices_[d], *planned.program, {}, planned.signal);
  }
}

// A step's end, on the orchestrator's thread.
void Executor::await(PreparedPlan& prepared, int step, uint32_t base, sync::DurationPredictor& predictor) {
  const Step& awaited = prepared.plan_.steps[static_cast<size_t>(step)];
  const auto d = static_cast<size_t>(awaited.device);
  const std::string name = awaited.name();
  sync::WaitContext context;
  context.step = name;
  context.device = prepared.plan_.devices[d];
  context.predicted_seconds = predictor.predict();
  context.deadline = options_.deadline;
  context.advice = kLateAdvice;
  // A kernel that raises a flag wakes nobody, so this thread looks again by itself.
  if (prepared.devices_[d]->info().kind == DeviceKind::gpu)
    context.block = [](std::chrono::milliseconds) { std::this_thread::sleep_for(std::chrono::microseconds(50)); };
  sync::Waiter& waiter = shares_core(prepared, d) ? *blocking_ : *waiter_;
  const sync::WaitReport report =
      waiter.wait(flags_.at(prepared.plan_.devices[d]), base + static_cast<uint32_t>(step), context);
  report.overslept ? predictor.observe_overslept() : predictor.observe(report.seconds);
}

// The prediction counts from the run's start: a device on this core may hold up the launching thread until all but the
// last microseconds are over, and a sleep as long as the whole run would then double it.
bool Executor::wait_all(PreparedPlan& prepared, uint32_t base, double start) {
  bool overslept = false;
  const auto wait = [&](size_t d, sync::Waiter& waiter) {
    const int last = prepared.last_steps_[d];  // which always signals
    if (last < 0) return;
    Device* device = prepared.devices_[d];
    sync::WaitContext context;
    const std::string name = prepared.plan_.steps[static_cast<size_t>(last)].name();
    context.step = name;
    context.device = prepared.plan_.devices[d];
    context.predicted_seconds = prepared.predictor_.predict_after(now_seconds() - start);
    context.deadline = options_.deadline;
    context.advice = kLateAdvice;
    context.block = [device](std::chrono::milliseconds deadline) { device->finish(deadline); };
    const sync::Flag& flag = flags_.at(prepared.plan_.devices[d]);
    overslept |= waiter.wait(flag, base + static_cast<uint32_t>(last), context).overslept;
  };
  for (size_t d = 0; d < prepared.devices_.size(); ++d) {
    if (shares_core(prepared, d)) wait(d, *blocking_);
  }
  for (size_t d = 0; d < prepared.devices_.size(); ++d) {
    if (!shares_core(prepared, d)) wait(d, *waiter_);
  }
  return overslept;
}

// After a failure: let every device run dry, then lift all flags past this run, so that the next one starts clean.
void Executor::recover(PreparedPlan& prepared, uint32_t final_epoch) noexcept {
  constexpr const char* kAbandoned = "the run was abandoned after a failure";
  gate_.fail(kAbandoned);
  for (auto& [id, flag] : flags_) flag.fail(kAbandoned);
  for (Device* device : prepared.devices_) {
    try {
      // What a slow device is busy with refers to programs that may go when this run's error is caught.
      device->finish(std::max(options_.deadline, sync::kWaitDeadline));
    } catch (const std::exception&) {
      // The run's first failure is already on its way to the caller.
    }
  }
  const auto lift = [&](const sync::Flag& flag) {
    flag.clear_failure();
    if (!flag.reached(final_epoch)) flag.raise(final_epoch);
  };
  lift(gate_);
  for (auto& [id, flag] : flags_) lift(flag);
}

PassSpans Executor::take_spans(const PreparedPlan& prepared) const {
  std::map<const Program*, int> step_of;
  for (size_t i = 0; i < prepared.programs_.size(); ++i) step_of[prepared.programs_[i].get()] = static_cast<int>(i);
  PassSpans measured(prepared.devices_.size());
  for (size_t d = 0; d < prepared.devices_.size(); ++d) {
    for (const DeviceSpan& span : lab_of(*prepared.devices_[d]).take_spans()) {
      const auto found = step_of.find(span.program);
      if (found == step_of.end()) continue;
      measured[d].push_back({found->second, span.op, span.start_seconds, span.end_seconds, span.alone});
    }
  }
  return measured;
}

void Executor::add_to_timeline(const PreparedPlan& prepared, const PassSpans& measured, double start, double end) {
  for (size_t d = 0; d < measured.size(); ++d) {
    int last = -1;
    for (const StepSpan& span : measured[d]) {
      if (prepared.devices_[d]->info().models_time && span.step != last)
        add_modelled(prepared, d, span.step, span.start_seconds);
      last = span.step;
    }
  }
  add_pass(*timeline_, prepared.plan_, measured, start, end);
}

// The whole step on the chip's own clock, from where it began here.
void Executor::add_modelled(const PreparedPlan& prepared, size_t d, int index, double start) {
  const Step& step = prepared.plan_.steps[static_cast<size_t>(index)];
  const Cost cost = prepared.devices_[d]->estimate(step.operators);
  timeline_->add({prepared.plan_.devices[d] + " (model clock)", step.name(), start, start + cost.seconds, cost.bytes,
                  cost.flops, cost.joules, true});
}

}  // namespace tandem
