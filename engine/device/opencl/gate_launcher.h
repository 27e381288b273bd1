// The launcher of the fast path: everything goes into an in-order queue at once, where gate kernels handle flags.
//
// No host thread takes part after launch(). So a program starts 0.75 us after its flag (PoCL), instead of after a
// thread's wake-up.
//
// Contract: as Launcher. Threads: one. Ownership: borrows the gates and the recorder.
#pragma once

#include <map>
#include <vector>

#include "engine/device/opencl/gates.h"
#include "engine/device/opencl/launcher.h"

namespace tandem::opencl {

class GateLauncher final : public Launcher {
 public:
  GateLauncher(cl::CommandQueue queue, Gates& gates, SpanRecorder& spans, std::string id);
  ~GateLauncher() override;
  void launch(std::shared_ptr<Prepared> program, std::span<const sync::WaitFor> waits, sync::Signal signal) override;
  void batch(bool open) override;
  // For a launcher that queues beside this one: a launch that could not be queued, and a flag that the queue
  // will raise.
  void reject(const std::string& step, const std::string& reason, const sync::Signal& signal);
  void will_raise(const sync::Signal& signal) { raised_here_[&signal.flag.line()] = signal; }
  void finish(std::chrono::milliseconds deadline) override;

 private:
  void enqueue(const Prepared& program, std::span<const sync::WaitFor> waits, const sync::Signal& signal);
  void fail(const std::string& failure);
  void wait_until_idle(std::chrono::milliseconds deadline);

  cl::CommandQueue queue_;
  Gates& gates_;
  SpanRecorder& spans_;
  std::string id_;
  bool batching_ = false;
  std::string stored_failure_;                                 // failure of a launch that could not be queued
  std::map<const sync::FlagLine*, sync::Signal> raised_here_;  // latest epoch queued per flag, since the last finish()
};

}  // namespace tandem::opencl
