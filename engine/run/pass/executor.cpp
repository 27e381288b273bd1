#include "engine/run/pass/executor.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "engine/device/lab/lab.h"
#include "engine/plan/partition/matmul_shape.h"
#include "engine/run/pass/pass_deadline.h"
#include "engine/run/pass/timeline_pass.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr const char* kLateAdvice = "--deadline gives it longer";

// For each device the index of the device whose sequence launches its steps: the first one on the same thread.
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

// For each device with memory of its own, the slots of intermediate values that no other device of the plan touches.
std::vector<KeptSlots> kept_slots(const Plan& plan, const std::vector<Device*>& devices) {
  std::vector<KeptSlots> kept(devices.size());
  if (std::ranges::all_of(devices, [](const Device* device) { return device->info().zero_copy; })) return kept;
  constexpr int kSeveral = -1;
  std::map<const sync::Slot*, int> users;  // the slot's only device
  for (const Step& step : plan.steps) {
    const auto look = [&](const Region& region, bool, bool) {
      if (!region.at || region.at.slot->use() != sync::SlotUse::intermediates) return;
      const auto [at, is_new] = users.emplace(region.at.slot, step.device);
      if (!is_new && at->second != step.device) at->second = kSeveral;
    };
    for (const Operator& op : step.operators) for_each_region(op, std::ref(look));
  }
  for (const auto& [slot, device] : users)
    if (device != kSeveral && !devices[static_cast<size_t>(device)]->info().zero_copy)
      kept[static_cast<size_t>(device)].insert(slot);
  return kept;
}

std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  }
}

// A kernel that raises a flag cannot wake a host thread, so the orchestrator's thread sleeps briefly and looks again.
void look_again(std::chrono::milliseconds) { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

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

// Devices make their programs here, once for each step. Later runs only launch them.
std::unique_ptr<PreparedPlan> Executor::prepare(Plan plan, bool whole_pass) {
  // If plans are made but none runs, at most one dropped plan waits to be destroyed.
  if (dropped_.size() > 1) dropped_.erase(dropped_.begin(), dropped_.end() - 1);
  auto prepared = std::make_unique<PreparedPlan>();
  for (const std::string& id : plan.devices) prepared->devices_.push_back(&device(id));
  std::vector<KeptSlots> kept(prepared->devices_.size());
  if (whole_pass) kept = kept_slots(plan, prepared->devices_);
  for (const Step& step : plan.steps) {
    const auto d = static_cast<size_t>(step.device);
    prepared->programs_.push_back(prepared->devices_[d]->prepare_keeping(step.operators, kept[d]));
  }
  const bool is_default = options_.deadline == sync::kWaitDeadline;
  prepared->deadline_ = is_default ? pass_deadline(plan, options_.deadline) : options_.deadline;
  prepared->plan_ = std::move(plan);
  make_sequences(*prepared);
  return prepared;
}

// Collects the launches of each thread in the order of the plan's steps, and lets the device build a sequence of them.
// GPU steps that follow the NPU are in no sequence: launch_following() launches them one by one.
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
    // The gate is the first wait of the sequence, so the device does not begin before launch_ready() raises it.
    if (gated(prepared, d)) waits.insert(waits.begin(), {gate_, 0});
    prepared.sequences_[d] = make_sequence(*prepared.devices_[d], std::move(launches[d]));
  }
}

// Prepares each missing graph by itself, once for each shape of a matmul, and adds up the modelled compile times.
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

// A step's launch with the flags that it waits for and raises. Epochs are indices of steps, without a run's base.
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
  for (Device* device : devices_) lab_of(*device).record_spans(timeline != nullptr || measured_ > 0);
  return before;
}

Run::~Run() {
  if (executor_) executor_->abandon(base_);
}

double Executor::run(PreparedPlan& prepared, PassSpans* spans) {
  return wait(start(prepared, spans != nullptr), spans);
}

// A run owns the epochs from its base on, one for each step. So the flags of several runs in flight are never confused.
Run Executor::start(PreparedPlan& prepared, bool measured) {
  submit_rest(epoch_);  // earlier runs come first in the queues
  const uint32_t base = epoch_ + 1;
  epoch_ += static_cast<uint32_t>(prepared.plan_.steps.size()) + 1;
  Flight& flight = flights_.emplace_back();
  flight.prepared = &prepared;
  flight.base = base;
  if (measured) measure(true);
  flight.measured = measured;
  flight.start = now_seconds();
  Run run(this, base);
  try {
    launch_ready(prepared, base);
  } catch (...) {
    recover(flight, std::current_exception());
    throw;
  }
  dropped_.clear();
  return run;
}

// A wait that overslept does not show how long the run took. So the predictor learns only that its prediction was
// too long.
double Executor::wait(Run run, PassSpans* spans) {
  Flight& flight = flight_of(run.base_);
  PreparedPlan& prepared = *flight.prepared;
  const double begin = begin_of(flight);
  const bool overslept = await_end(flight);
  if (flight.failure) std::rethrow_exception(flight.failure);  // run's destructor removes the flight
  const double end = now_seconds();
  for (const Device* device : prepared.devices_) free_at_[device] = end;
  overslept ? prepared.predictor_.observe_overslept() : prepared.predictor_.observe(end - begin);
  if (timeline_ || flight.measured) {
    take_spans();
    if (timeline_) add_to_timeline(prepared, flight.spans, begin, end);
    if (spans) *spans = std::move(flight.spans);
  }
  return end - begin;
}

// Waits for a run whose wait() will never be called. Its caller may be about to release the memory that it works on.
void Executor::abandon(uint32_t base) noexcept {
  Flight& flight = flight_of(base);
  if (!flight.failure && !ended(flight)) await_end(flight);
  land(base);
}

// Returns whether the wait slept too long. A failure is stored in the flight.
bool Executor::await_end(Flight& flight) {
  submit_rest(flight.base);
  if (flight.failure) return false;
  try {
    return wait_all(flight);
  } catch (...) {
    recover(flight, std::current_exception());
    return false;
  }
}

// Removes a run from the list of runs in flight.
void Executor::land(uint32_t base) noexcept {
  const Flight& flight = flight_of(base);
  if (flight.measured) measure(false);
  flights_.erase(flights_.begin() + (&flight - flights_.data()));
}

Executor::Flight& Executor::flight_of(uint32_t base) {
  const auto found = std::ranges::find(flights_, base, &Flight::base);
  TANDEM_CHECK(found != flights_.end(), "a run is waited for once");
  return *found;
}

// Devices are in-order, so a run begins only when earlier runs have left its devices.
double Executor::begin_of(const Flight& flight) const {
  double begin = flight.start;
  for (const Device* device : flight.prepared->devices_) {
    if (const auto found = free_at_.find(device); found != free_at_.end()) begin = std::max(begin, found->second);
  }
  return begin;
}

// Counts the measured runs in flight, because devices must record as long as one of them needs it.
void Executor::measure(bool on) {
  const int before = std::exchange(measured_, measured_ + (on ? 1 : -1));
  if (timeline_ || (before > 0) == (measured_ > 0)) return;
  for (Device* device : devices_) lab_of(*device).record_spans(on);
}

bool Executor::shares_core(const PreparedPlan& prepared, size_t device) const {
  return std::ranges::find(options_.shares_core, prepared.plan_.devices[device]) != options_.shares_core.end();
}

// Launches all steps except GPU steps that follow the NPU, which submit_rest() launches.
void Executor::launch_ready(PreparedPlan& prepared, uint32_t base) {
  // Devices that share the orchestrator's core come last: once they have work, they may keep that core from launching
  // the rest. The gate opens before them, so that they do not wait for it on this very core.
  std::vector<size_t> apart, sharing;
  for (size_t d = 0; d < prepared.devices_.size(); ++d) (shares_core(prepared, d) ? sharing : apart).push_back(d);
  launch_on(apart, prepared, base);
  if (options_.sync_policy == sync::Policy::gate && prepared.plan_.dominant == Dominant::gpu) gate_.raise(base);
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

// H7, NPU-dominant: the host submits each step of a GPU when the steps that it waits for have ended.
bool Executor::follows(const PreparedPlan& prepared, size_t device) {
  return prepared.plan_.dominant == Dominant::npu && prepared.devices_[device]->info().queued;
}

// Launches the GPU steps that follow the NPU, for the run with this base and all runs before it.
void Executor::submit_rest(uint32_t base) {
  for (Flight& flight : flights_) {
    if (static_cast<int32_t>(flight.base - base) > 0) break;
    if (flight.failure || std::exchange(flight.submitted, true)) continue;
    if (flight.prepared->plan_.dominant != Dominant::npu) continue;
    try {
      launch_following(*flight.prepared, flight.base);
    } catch (...) {
      recover(flight, std::current_exception());
    }
  }
}

// H7, NPU-dominant: this thread waits for the awaited steps, and then submits the GPU's step. The step itself waits for
// no flag, since everything that it needs is there.
void Executor::launch_following(PreparedPlan& prepared, uint32_t base) {
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

// Waits on the orchestrator's thread until a step has ended, and teaches the predictor how long that took.
void Executor::await(PreparedPlan& prepared, int step, uint32_t base, sync::DurationPredictor& predictor) {
  const Step& awaited = prepared.plan_.steps[static_cast<size_t>(step)];
  const auto d = static_cast<size_t>(awaited.device);
  const std::string name = awaited.name();
  sync::WaitContext context;
  context.step = name;
  context.device = prepared.plan_.devices[d];
  context.predicted_seconds = predictor.predict();
  context.deadline = prepared.deadline_;
  context.advice = kLateAdvice;
  if (prepared.devices_[d]->info().queued) context.block = look_again;
  sync::Waiter& waiter = shares_core(prepared, d) ? *blocking_ : *waiter_;
  const sync::WaitReport report =
      waiter.wait(flags_.at(prepared.plan_.devices[d]), base + static_cast<uint32_t>(step), context);
  report.overslept ? predictor.observe_overslept() : predictor.observe(report.seconds);
}

// Waits for the last step of each device, for those on this core first. The predicted time counts from the run's start
// and not from now. A device on this core may hold up this thread until the run is all but over. A sleep as long as the
// whole run would then double its time.
bool Executor::wait_all(const Flight& flight) {
  PreparedPlan& prepared = *flight.prepared;
  const double begin = begin_of(flight);
  bool overslept = false;
  const auto wait = [&](size_t d, sync::Waiter& waiter) {
    const int last = prepared.last_steps_[d];  // the last step always signals
    if (last < 0) return;
    Device* device = prepared.devices_[d];
    sync::WaitContext context;
    const std::string name = prepared.plan_.steps[static_cast<size_t>(last)].name();
    context.step = name;
    context.device = prepared.plan_.devices[d];
    context.predicted_seconds = prepared.predictor_.predict_after(now_seconds() - begin);
    context.deadline = prepared.deadline_;
    context.advice = kLateAdvice;
    if (is_last_on(flight, device))
      context.block = [device](std::chrono::milliseconds deadline) { device->finish(deadline); };
    else if (device->info().queued)
      context.block = look_again;
    const sync::Flag& flag = flags_.at(prepared.plan_.devices[d]);
    const uint32_t epoch = flight.base + static_cast<uint32_t>(last);
    try {
      overslept |= waiter.wait(flag, epoch, context).overslept;
    } catch (const std::exception&) {
      if (!flag.reached(epoch) || is_last_on(flight, device)) throw;  // else this run has ended, and a later one failed
    }
  };
  for (size_t d = 0; d < prepared.devices_.size(); ++d) {
    if (shares_core(prepared, d)) wait(d, *blocking_);
  }
  for (size_t d = 0; d < prepared.devices_.size(); ++d) {
    if (!shares_core(prepared, d)) wait(d, *waiter_);
  }
  return overslept;
}

// Whether all devices have ended the run and none failed in it. A failed flag belongs to the last run on its device.
bool Executor::ended(const Flight& flight) const {
  const PreparedPlan& prepared = *flight.prepared;
  for (size_t d = 0; d < prepared.devices_.size(); ++d) {
    const int last = prepared.last_steps_[d];
    if (last < 0) continue;
    const sync::Flag& flag = flags_.at(prepared.plan_.devices[d]);
    if (!flag.reached(flight.base + static_cast<uint32_t>(last))) return false;
    if (flag.failed() && is_last_on(flight, prepared.devices_[d])) return false;  // the failure is this run's own
  }
  return true;
}

// Looks through the runs that started later. A device's failed flag, or the end of its queue, belongs to the last run
// on it.
bool Executor::is_last_on(const Flight& flight, const Device* device) const {
  for (auto later = flights_.rbegin(); &*later != &flight; ++later) {
    if (std::ranges::find(later->prepared->devices_, device) != later->prepared->devices_.end()) return false;
  }
  return true;
}

// After a failure: waits until every device has ended its work, then raises all flags past the epochs of the runs in
// flight. So the next run starts clean. A run that had not ended before is lost, and its own wait() says so.
void Executor::recover(Flight& failed, std::exception_ptr reason) noexcept {
  for (Flight& flight : flights_) {
    if (&flight != &failed && !flight.failure && !ended(flight))
      flight.failure = std::make_exception_ptr(Error("a run was lost", flight.prepared->plan_.name,
                                                     "It was in flight when another failed: " + text_of(reason)));
  }
  failed.failure = std::move(reason);
  constexpr const char* kAbandoned = "the run was abandoned after a failure";
  gate_.fail(kAbandoned);
  for (auto& [id, flag] : flags_) flag.fail(kAbandoned);
  for (Device* device : devices_) {
    try {
      // A slow device still uses programs that the caller may destroy when it catches this run's error. The threads of
      // this process end in any case; a driver may not.
      const bool ends = !device->info().queued;
      device->finish(ends ? std::chrono::hours(24) : std::max(options_.deadline, sync::kWaitDeadline));
    } catch (const std::exception&) {
      // The caller gets the run's first failure.
    }
  }
  const auto lift = [&](const sync::Flag& flag) {
    flag.clear_failure();
    if (!flag.reached(epoch_)) flag.raise(epoch_);
  };
  lift(gate_);
  for (auto& [id, flag] : flags_) lift(flag);
}

// Takes the spans that the devices have measured since the last call, and adds each to its run. A span's program says
// which step it belongs to. Later runs are entered first, so the oldest run of a plan gets the spans.
void Executor::take_spans() {
  std::map<const Program*, std::pair<Flight*, int>> step_of;
  for (auto flight = flights_.rbegin(); flight != flights_.rend(); ++flight) {
    if (!flight->measured && !timeline_) continue;
    const PreparedPlan& prepared = *flight->prepared;
    flight->spans.resize(prepared.devices_.size());
    for (size_t i = 0; i < prepared.programs_.size(); ++i)
      step_of[prepared.programs_[i].get()] = {&*flight, static_cast<int>(i)};
  }
  for (Device* device : devices_) {
    const std::vector<DeviceSpan> spans = lab_of(*device).take_spans();
    auto found = step_of.end();
    for (const DeviceSpan& span : spans) {
      // Spans of one program follow each other, so most of them need no search.
      if (found == step_of.end() || found->first != span.program) found = step_of.find(span.program);
      if (found == step_of.end()) continue;
      const auto& [flight, step] = found->second;
      const std::vector<Device*>& devices = flight->prepared->devices_;
      const auto d = static_cast<size_t>(std::ranges::find(devices, device) - devices.begin());
      if (d == devices.size()) continue;
      std::vector<StepSpan>& of_device = flight->spans[d];
      if (of_device.empty()) of_device.reserve(spans.size());
      of_device.push_back({step, span.op, span.start_seconds, span.end_seconds, span.alone});
    }
  }
}

// Adds a run's spans to the timeline. A device that models a chip's time also gets each step on the model clock.
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

// Adds a span of a whole step on the chip's own clock, beginning where the step began on the wall clock.
void Executor::add_modelled(const PreparedPlan& prepared, size_t d, int index, double start) {
  const Step& step = prepared.plan_.steps[static_cast<size_t>(index)];
  const Cost cost = prepared.devices_[d]->estimate(step.operators);
  timeline_->add({prepared.plan_.devices[d] + " (model clock)", step.name(), start, start + cost.seconds, cost.bytes,
                  cost.flops, cost.joules, true});
}

}  // namespace tandem
