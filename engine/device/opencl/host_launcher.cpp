#include "engine/device/opencl/host_launcher.h"

#include <utility>

#include "sync/error.h"

namespace tandem::opencl {

HostLauncher::HostLauncher(cl::CommandQueue queue, SlotMemory& memory, SpanRecorder& spans, std::string id,
                           sync::Policy sync_policy, std::chrono::milliseconds wait_deadline)
    : queue_(std::move(queue)),
      memory_(memory),
      spans_(spans),
      id_(std::move(id)),
      waits_(id_, sync_policy, wait_deadline) {}

// Closing the waits ends a wait of the thread, which then runs through the rest of its jobs without work.
HostLauncher::~HostLauncher() {
  failure_.keep("the device was closed");
  waits_.close();
}

// The job keeps its program, so the caller may drop it while the job waits.
void HostLauncher::launch(std::shared_ptr<Prepared> program, std::span<const sync::WaitFor> waits,
                          sync::Signal signal) {
  thread_.push([this, job = Job{std::move(program), {waits.begin(), waits.end()}, signal}] { run(job); });
}

// Waits for the thread's jobs. If they do not end in time, the error names the step that ran last.
void HostLauncher::finish(std::chrono::milliseconds deadline) {
  const bool ended = thread_.drain(deadline);
  std::lock_guard lock(mutex_);
  if (!ended) throw did_not_finish(deadline, id_ + ", step '" + running_ + "'");
  if (const std::string failure = failure_.take(); !failure.empty()) throw Error("a program failed", id_, failure);
}

// Runs on the thread. Behind a failure a job does no work, and only fails its flag.
void HostLauncher::run(const Job& job) {
  std::string failure = failure_.message();
  {
    std::lock_guard lock(mutex_);
    running_ = job.program->name;
  }
  try {
    if (failure.empty()) execute(job);
  } catch (const std::exception& error) {
    failure = "step '" + job.program->name + "': " + error.what();
    failure_.keep(failure);
  }
  if (!failure.empty() && job.signal.flag) job.signal.flag.fail(failure);
}

// If memory is not shared, copies surround the kernels in the same in-order queue. clFinish() covers them all.
void HostLauncher::execute_kernels(Prepared& program) {
  run_queued(queue_, program.name + " on " + id_, [&] { enqueue_kernels(program); });
}

void HostLauncher::enqueue_kernels(Prepared& program) {
  if (!memory_.shared()) {
    for (const Region& region : program.copied.weights) uploads_ += memory_.upload_once(queue_, region);
    // Weights are rearranged only behind uploads, so otherwise nothing is looked at.
    if (program.arranged_behind != uploads_) enqueue_rearrangements(queue_, memory_, program);
    program.arranged_behind = uploads_;
    for (const Region& region : program.copied.uploads) memory_.upload(queue_, region);
    copied_bytes_ += gpu::copied_bytes(program.copied);
    for (const sync::Slot* slot : program.copied.divided) copied_bytes_ += memory_.upload_changes(queue_, *slot);
  }
  enqueue_measured(queue_, program, spans_);
  if (!memory_.shared()) {
    for (const Region& region : program.copied.downloads) memory_.download(queue_, region);
  }
}

// The flag is raised only after clFinish(), so all results are visible to other devices.
void HostLauncher::execute(const Job& job) {
  waits_.wait(job.program->name, job.waits, 0, job.program->flag_waits);
  execute_kernels(*job.program);
  if (job.signal.flag) job.signal.flag.raise(job.signal.epoch);
}

}  // namespace tandem::opencl
