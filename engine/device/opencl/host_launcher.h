// The launcher that works everywhere: a thread of the device waits for flags, queues a program, waits for it, and
// raises its flag.
//
// It is used with --sync blocking, if memory is not shared, and if gate kernels do not pass the start-up test.
//
// Contract: as Launcher. Ownership: borrows the memory and the recorder.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/device/opencl/launcher.h"
#include "engine/device/step_waits.h"
#include "sync/first_failure.h"
#include "sync/worker.h"

namespace tandem::opencl {

class HostLauncher final : public Launcher {
 public:
  HostLauncher(cl::CommandQueue queue, SlotMemory& memory, SpanRecorder& spans, std::string id,
               sync::Policy sync_policy, std::chrono::milliseconds wait_deadline);
  ~HostLauncher() override;  // programs that have not started, or still wait for flags, fail their own flags
  void launch(std::shared_ptr<Prepared> program, std::span<const sync::WaitFor> waits, sync::Signal signal) override;
  void batch(bool) override {}  // the thread queues one program at a time
  void finish(std::chrono::milliseconds deadline) override;
  uint64_t copied_bytes() const override { return copied_bytes_; }

 private:
  struct Job {
    std::shared_ptr<Prepared> program;
    std::vector<sync::WaitFor> waits;
    sync::Signal signal;
  };
  void run(const Job& job);
  void execute(const Job& job);
  void execute_kernels(Prepared& program);
  void enqueue_kernels(Prepared& program);

  cl::CommandQueue queue_;
  SlotMemory& memory_;
  SpanRecorder& spans_;
  std::string id_;
  StepWaits waits_;
  sync::FirstFailure failure_;
  uint64_t uploads_ = 0;  // of weights, by the thread
  std::atomic<uint64_t> copied_bytes_ = 0;
  std::mutex mutex_;  // guards running_
  std::string running_;
  sync::Worker thread_;  // last: it uses everything above
};

}  // namespace tandem::opencl
