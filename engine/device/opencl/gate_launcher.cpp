#include "engine/device/opencl/gate_launcher.h"

#include "engine/device/opencl/event_wait.h"
#include "sync/error.h"

namespace tandem::opencl {
namespace {

bool at_least(uint32_t epoch, uint32_t wanted) { return static_cast<int32_t>(epoch - wanted) >= 0; }

}  // namespace

GateLauncher::GateLauncher(cl::CommandQueue queue, Gates& gates, SpanRecorder& spans, std::string id)
    : queue_(std::move(queue)), gates_(gates), spans_(spans), id_(std::move(id)) {}

GateLauncher::~GateLauncher() {
  gates_.cancel();
  queue_.finish();  // a destructor cannot report; the gates are bounded in any case
}

void GateLauncher::enqueue(const Prepared& program, std::span<const sync::WaitFor> waits, const sync::Signal& signal) {
  // A poisoned device skips the work, but the signal still goes through the queue, so that flags fail in order.
  if (!gates_.poisoned() && stored_failure_.empty()) {
    for (const sync::WaitFor& wait : waits) {
      const auto own = raised_here_.find(&wait.flag.line());
      if (own != raised_here_.end() && at_least(own->second.epoch, wait.epoch)) continue;  // earlier in this very queue
      if (wait.flag.reached(wait.epoch) && !wait.flag.failed()) continue;
      gates_.enqueue_wait(queue_, wait);
    }
    enqueue_measured(queue_, program, spans_);
  }
  if (signal.flag) {
    gates_.enqueue_signal(queue_, signal);
    raised_here_[&signal.flag.line()] = signal;
  }
  if (!batching_) check(queue_.flush(), "clFlush", id_);
}

void GateLauncher::batch(bool open) {
  batching_ = open;
  if (!open) queue_.flush();  // a failure shows in finish(), which cannot be left out
}

void GateLauncher::launch(std::shared_ptr<Prepared> program, std::span<const sync::WaitFor> waits,
                          sync::Signal signal) {
  try {
    enqueue(*program, waits, signal);
  } catch (const std::exception& error) {
    reject(program->name, error.what(), signal);
  }
}

void GateLauncher::reject(const std::string& step, const std::string& reason, const sync::Signal& signal) {
  if (stored_failure_.empty()) stored_failure_ = "step '" + step + "': " + reason;
  gates_.cancel();  // what is queued already passes the failure on
  if (signal.flag) signal.flag.fail(stored_failure_);
}

void GateLauncher::wait_until_idle(std::chrono::milliseconds deadline) {
  cl::Event marker;
  check(queue_.enqueueMarkerWithWaitList(nullptr, &marker), "clEnqueueMarkerWithWaitList", id_);
  check(queue_.flush(), "clFlush", id_);
  wait_for_event(marker, deadline, id_);
}

void GateLauncher::fail(const std::string& failure) {
  for (const auto& [line, signal] : raised_here_) {
    if (signal.flag.failed()) signal.flag.fail(failure);  // the kernel set the word; the message is the host's to add
  }
  raised_here_.clear();
  gates_.reset();
  stored_failure_.clear();
  throw Error("a program failed", id_, failure);
}

void GateLauncher::finish(std::chrono::milliseconds deadline) {
  wait_until_idle(deadline);
  const std::string failure = stored_failure_.empty() ? gates_.failure() : stored_failure_;
  if (!failure.empty()) fail(failure);
  raised_here_.clear();
}

}  // namespace tandem::opencl
