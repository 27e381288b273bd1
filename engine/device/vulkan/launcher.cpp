#include "engine/device/vulkan/launcher.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "engine/device/vulkan/private_slots.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem::vulkan {
// While the thread has no job to run, it ends the programs in flight one by one.
Launcher::Launcher(Handle& handle, SlotMemory& memory, LauncherOptions options)
    : handle_(handle),
      memory_(memory),
      options_(std::move(options)),
      timeline_(handle),
      stamps_(handle),
      waits_(handle.id(), options_.sync_policy, options_.wait_deadline),
      thread_({}, [this] { return end_one(); }) {}

// Closing the waits ends a wait of the thread. The thread then ends what is in flight, and fails the rest.
Launcher::~Launcher() {
  failure_.keep("the device was closed");
  waits_.close();
}

// One push for all jobs, so all of them are queued before the first one starts.
void Launcher::launch(std::vector<Job> jobs) {
  thread_.push([this, jobs = std::move(jobs)]() mutable {
    for (Job& job : jobs) run(std::move(job));
  });
}

// Draining the thread also ends the programs in flight. Then the first failure is thrown.
void Launcher::finish(std::chrono::milliseconds deadline) {
  const bool ended = thread_.drain(deadline);
  std::lock_guard lock(mutex_);
  if (!ended) throw did_not_finish(deadline, handle_.id() + ", step '" + running_ + "'");
  if (const std::string failure = failure_.take(); !failure.empty())
    throw Error("a program failed", handle_.id(), failure);
}

// The clocks are tied anew each time that recording begins.
void Launcher::record_spans(bool on) {
  if (on) stamps_.calibrate();
  std::lock_guard lock(mutex_);
  spans_on_ = on;
}

std::vector<DeviceSpan> Launcher::take_spans() {
  std::lock_guard lock(mutex_);
  return std::exchange(spans_, {});
}

// A program that cannot follow the programs in flight waits until enough of them have ended. Behind a failure it waits
// for all of them, and then fails as well.
void Launcher::run(Job job) {
  while (!flying_.empty() && (failure_.any() || !can_follow(job))) end_oldest();
  if (const std::string broken = failure_.message(); !broken.empty()) return give_up(job, broken);
  if (flying_.empty()) {
    std::lock_guard lock(mutex_);
    running_ = job.program->name;
  }
  start(std::move(job));
}

bool Launcher::end_one() {
  if (!flying_.empty()) end_oldest();
  return !flying_.empty();
}

// This thread copies before and after a program if memory is not shared, so such programs run one by one. Otherwise
// each flag must be up, or a program in flight must raise it.
bool Launcher::can_follow(const Job& job) const {
  constexpr size_t kMostFlying = 64;
  if (!memory_.shared() || flying_.size() >= kMostFlying) return false;
  return std::ranges::all_of(job.waits, [this](const sync::WaitFor& wait) {
    if (wait.flag.failed()) return false;
    return wait.flag.reached(wait.epoch) || std::ranges::any_of(flying_, [&](const Flying& ahead) {
             const sync::Signal& signal = ahead.job.signal;
             return signal.flag && &signal.flag.line() == &wait.flag.line() &&
                    static_cast<int32_t>(signal.epoch - wait.epoch) >= 0;
           });
  });
}

void Launcher::give_up(const Job& job, const std::string& why) {
  if (job.signal.flag) job.signal.flag.fail(why);
  failure_.keep(why);
}

// Waits for the flags, uploads weights that have changed, fills the staging buffer, and submits.
void Launcher::start(Job job) {
  const std::string object = "program '" + job.program->name + "' on " + handle_.id();
  try {
    // With programs in flight, can_follow() has shown that the flags are up, or will be before this program's turn.
    if (flying_.empty()) waits_.wait(job.program->name, job.waits, 0, job.program->flag_waits);
    Prepared& program = *job.program;
    bring_weights(program);
    bring_changes(program);
    if (!memory_.shared()) {
      program.fill_staging();
      copied_bytes_ += program.staged_bytes;
    }
    submit({job, timeline_.last() + 1, {}, now_seconds(), {}}, object);
  } catch (const std::exception& error) {
    give_up(job, "step '" + job.program->name + "': " + error.what());
  }
}

// Uploads weights that have changed. Weights are rearranged only behind uploads, so otherwise nothing is looked at.
void Launcher::bring_weights(Prepared& program) {
  for (const WeightsCopy& weights : program.weights) {
    if (weights.state->filled == weights.slot->times_acquired()) continue;
    upload(handle_, weights);
    ++uploads_;
  }
  if (program.arranged_behind == uploads_) return;
  rearrange(handle_, program);
  program.arranged_behind = uploads_;
}

// Parts that have changed are not those that programs in flight read.
void Launcher::bring_changes(const Prepared& program) {
  for (const auto& [slot, buffer, parts] : program.divided) {
    const std::vector<Region> changed = parts->take_changed(*slot);
    store_regions(
        handle_, [copy = buffer](const sync::Slot&) { return copy; }, changed);
    for (const Region& region : changed) copied_bytes_ += region.width_bytes;
  }
}

// The end of a submission shows at a fence ("blocking") or at the timeline's next value. While spans are recorded, time
// stamps surround the program's commands.
void Launcher::submit(Flying flying, const std::string& object) {
  if (options_.sync_policy == sync::Policy::blocking) {
    const auto info = typed<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
    flying.fence = make<OwnedFence>(vkCreateFence, handle_.device(), info, "vkCreateFence", object);
  }
  {
    std::lock_guard lock(mutex_);
    if (spans_on_) flying.stamps = stamps_.take();
  }
  std::vector<VkCommandBuffer> commands{flying.job.program->commands};
  if (flying.stamps) commands = {flying.stamps->before, flying.job.program->commands, flying.stamps->after};
  handle_.submit({commands, timeline_.get(), flying.value}, flying.fence.get(), object);
  timeline_.will_reach(flying.value);
  flying_.push_back(std::move(flying));
}

// Waits for the oldest program in flight, then raises its flag, or fails it. Records its time for the next prediction
// and for spans. If an earlier program has failed, its failure is passed on.
void Launcher::end_oldest() {
  Flying& oldest = flying_.front();
  std::string failure = failure_.message();
  bool overslept = false;
  try {
    // Behind a failure the result does not count, but the recorded commands must outlive their execution.
    overslept = wait_for_end(oldest, failure.empty() ? options_.wait_deadline : std::chrono::seconds(1));
    if (!memory_.shared() && failure.empty()) oldest.job.program->empty_staging();
  } catch (const std::exception& error) {
    if (failure.empty()) {
      failure = "step '" + oldest.job.program->name + "': " + error.what();
      outlive(oldest, failure);
    }
  }
  Flying done = std::move(flying_.front());
  flying_.pop_front();
  const double now = now_seconds();
  if (!flying_.empty()) flying_.front().start_seconds = now;  // it starts now at the latest
  Stamps::Times times{done.start_seconds, now};
  if (done.stamps) {
    if (failure.empty()) times = stamps_.read(*done.stamps).value_or(times);
    stamps_.give_back(*done.stamps);
  }
  if (failure.empty()) {
    sync::DurationPredictor& duration = done.job.program->duration;
    overslept ? duration.observe_overslept() : duration.observe(now - done.start_seconds);
    if (done.job.signal.flag) done.job.signal.flag.raise(done.job.signal.epoch);
  } else if (done.job.signal.flag) {
    done.job.signal.flag.fail(failure);
  }
  failure_.keep(failure);
  std::lock_guard lock(mutex_);
  if (spans_on_ && failure.empty()) spans_.push_back({done.job.program->owner, times.start_seconds, times.end_seconds});
  running_ = flying_.empty() ? "" : flying_.front().job.program->name;
}

// A program that has missed the deadline may still run. Its flag fails at once. But its commands are released only when
// it has ended, or has had as long as any wait may last.
void Launcher::outlive(Flying& late, const std::string& failure) {
  failure_.keep(failure);
  if (late.job.signal.flag) late.job.signal.flag.fail(failure);
  late.job.signal = {};
  try {
    wait_for_end(late, sync::kWaitDeadline);
  } catch (const std::exception&) {  // its flag has failed already
  }
}

// With "blocking" it waits for the fence. With "predict" it first sleeps for the predicted time. Then it polls for
// kPollSeconds, and at last it sleeps in the driver.
bool Launcher::wait_for_end(const Flying& oldest, std::chrono::milliseconds deadline) {
  const std::string object = "program '" + oldest.job.program->name + "' on " + handle_.id();
  if (oldest.fence) {
    const VkResult code = wait_in_slices(deadline, [&](uint64_t time) {
      return vkWaitForFences(handle_.device(), 1, &oldest.fence.get(), VK_TRUE, time);
    });
    if (code == VK_TIMEOUT) throw did_not_finish(deadline, object);
    check(code, "vkWaitForFences", object);
    return false;
  }
  auto ended = [&] { return timeline_.reached(oldest.value, object); };
  if (options_.sync_policy == sync::Policy::predict) {
    // Like sync::PredictWaiter: a sleep ends 15 to 25 us late, and below 100 us it costs more than it saves.
    const double rest = oldest.job.program->duration.predict_after(now_seconds() - oldest.start_seconds);
    if (rest > 100e-6) {
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min(rest - 50e-6, 1.0)));
      if (ended()) return true;
    }
  }
  constexpr double kPollSeconds = 200e-6;
  for (const double begin = now_seconds(); now_seconds() - begin < kPollSeconds;) {
    if (ended()) return false;
    sched_yield();
  }
  timeline_.wait(oldest.value, deadline, object);
  return false;
}

}  // namespace tandem::vulkan
