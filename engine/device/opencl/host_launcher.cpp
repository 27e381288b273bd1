#include "engine/device/opencl/host_launcher.h"

#include "sync/error.h"

namespace tandem::opencl {

HostLauncher::HostLauncher(cl::CommandQueue queue, SlotMemory& memory, SpanRecorder& spans, std::string id,
                           std::string sync_policy, std::chrono::milliseconds wait_deadline)
    : queue_(std::move(queue)),
      memory_(memory),
      spans_(spans),
      id_(std::move(id)),
      sync_policy_(std::move(sync_policy)),
      wait_deadline_(wait_deadline),
      thread_([this] { run(); }) {}

HostLauncher::~HostLauncher() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    if (failure_.empty()) failure_ = "the device was closed";
  }
  changed_.notify_all();
  thread_.join();
}

void HostLauncher::launch(std::shared_ptr<Prepared> program, std::span<const sync::WaitFor> waits,
                          sync::Signal signal) {
  {
    std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(program), {waits.begin(), waits.end()}, signal});
  }
  changed_.notify_all();
}

void HostLauncher::finish(std::chrono::milliseconds deadline) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, deadline, [this] { return jobs_.empty(); })) {
    throw Error("the device did not finish within " + std::to_string(deadline.count()) + " ms",
                id_ + ", step '" + jobs_.front().program->name + "'", "A step may wait for a flag that nobody raises");
  }
  if (failure_.empty()) return;
  const std::string failure = std::exchange(failure_, "");
  throw Error("a program failed", id_, failure);
}

void HostLauncher::run() {
  const auto waiter = sync::make_waiter(sync_policy_);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const Job job = jobs_.front();
    std::string failure = failure_;
    lock.unlock();
    if (failure.empty()) {
      try {
        execute(job, *waiter);
      } catch (const std::exception& error) {
        failure = "step '" + job.program->name + "': " + error.what();
      }
    }
    if (!failure.empty() && job.signal.flag) job.signal.flag.fail(failure);
    lock.lock();
    if (!failure.empty() && failure_.empty()) failure_ = failure;
    jobs_.pop_front();
    changed_.notify_all();
  }
}

void HostLauncher::wait_for_flags(const Job& job, sync::Waiter& waiter) {
  for (const sync::WaitFor& wait : job.waits) {
    sync::WaitContext context;
    context.step = job.program->name;
    context.device = id_;
    context.deadline = wait_deadline_;
    waiter.wait(wait.flag, wait.epoch, context);
  }
}

void HostLauncher::execute_kernels(Prepared& program) {
  if (!memory_.shared()) {
    if (!program.weights_uploaded) {
      for (const Region& region : program.copied.weights) memory_.upload(queue_, region);
      program.weights_uploaded = true;
    }
    for (const Region& region : program.copied.uploads) memory_.upload(queue_, region);
  }
  enqueue_measured(queue_, program, spans_);
  if (!memory_.shared()) {
    for (const Region& region : program.copied.downloads) memory_.download(queue_, region);
  }
  check(queue_.finish(), "clFinish", program.name + " on " + id_);
}

void HostLauncher::execute(const Job& job, sync::Waiter& waiter) {
  wait_for_flags(job, waiter);
  execute_kernels(*job.program);
  if (job.signal.flag) job.signal.flag.raise(job.signal.epoch);
}

}  // namespace tandem::opencl
