#include "engine/device/opencl/gate_launcher.h"

#include "engine/device/opencl/event_wait.h"
#include "sync/error.h"

namespace tandem::opencl {
namespace {

// Compares in a way that survives the wrap of epochs.
bool at_least(uint32_t epoch, uint32_t wanted) { return static_cast<int32_t>(epoch - wanted) >= 0; }

}  // namespace

GateLauncher::GateLauncher(cl::CommandQueue queue, Gates& gates, SpanRecorder& spans, std::string id)
    : queue_(std::move(queue)), gates_(gates), spans_(spans), id_(std::move(id)) {}

GateLauncher::~GateLauncher() {
  gates_.cancel();
  queue_.finish();  // gates are bounded, so this ends; a destructor cannot report errors
}

void GateLauncher::enqueue(const Prepared& program, std::span<const sync::WaitFor> waits, const sync::Signal& signal) {
  // Queues a gate for each flag that is not known to be up, then the kernels, then the signal. A flag that this queue
  // raises earlier needs no gate, because the queue is in order. After a failure the work is skipped, but signals still
  // go through the queue, so that flags fail in order.
  if (!gates_.poisoned() && stored_failure_.empty()) {
    for (const sync::WaitFor& wait : waits) {
      const auto own = raised_here_.find(&wait.flag.line());
      if (own != raised_here_.end() && at_least(own->second.epoch, wait.epoch)) continue;  // this queue raises it
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

// While a batch is open nothing is flushed, so that the driver gets the batch as a whole.
void GateLauncher::batch(bool open) {
  batching_ = open;
  if (!open) queue_.flush();  // finish() always follows, and reports a failure
}

void GateLauncher::launch(std::shared_ptr<Prepared> program, std::span<const sync::WaitFor> waits,
                          sync::Signal signal) {
  try {
    enqueue(*program, waits, signal);
  } catch (const std::exception& error) {
    reject(program->name, error.what(), signal);
  }
}

// Keeps the first failure. No signal was queued for this launch, so the host fails its flag.
void GateLauncher::reject(const std::string& step, const std::string& reason, const sync::Signal& signal) {
  if (stored_failure_.empty()) stored_failure_ = "step '" + step + "': " + reason;
  gates_.cancel();  // queued gates pass the failure on
  if (signal.flag) signal.flag.fail(stored_failure_);
}

// A marker's event can be waited for with a deadline; clFinish() cannot.
void GateLauncher::wait_until_idle(std::chrono::milliseconds deadline) {
  cl::Event marker;
  check(queue_.enqueueMarkerWithWaitList(nullptr, &marker), "clEnqueueMarkerWithWaitList", id_);
  check(queue_.flush(), "clFlush", id_);
  wait_for_event(marker, deadline, id_);
}

// Clears the failure and throws it. A device that has failed once can be used again.
void GateLauncher::fail(const std::string& failure) {
  for (const auto& [line, signal] : raised_here_) {
    if (signal.flag.failed()) signal.flag.fail(failure);  // the kernel has set the word, and the host adds the message
  }
  raised_here_.clear();
  gates_.reset();
  stored_failure_.clear();
  throw Error("a program failed", id_, failure);
}

// A launch that could not be queued has cancelled the gates. So its failure says more than the gates' own.
void GateLauncher::finish(std::chrono::milliseconds deadline) {
  wait_until_idle(deadline);
  const std::string failure = stored_failure_.empty() ? gates_.failure() : stored_failure_;
  if (!failure.empty()) fail(failure);
  raised_here_.clear();
}

}  // namespace tandem::opencl
