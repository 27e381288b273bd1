// The launcher that works everywhere: a thread of the device waits for flags on the host, queues the program, waits for
// it, raises the flag. Used with --sync blocking, where memory is not shared, and where gate kernels do not pass the
// start-up test.
#pragma once

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
  ~HostLauncher() override;  // programs that have not started fail their flags, the one that waits for others' too
  void launch(std::shared_ptr<Prepared> program, std::span<const sync::WaitFor> waits, sync::Signal signal) override;
  void batch(bool) override {}  // its thread enqueues one program at a time
  void finish(std::chrono::milliseconds deadline) override;

 private:
  struct Job {
    std::shared_ptr<Prepared> program;
    std::vector<sync::WaitFor> waits;
    sync::Signal signal;
  };
  void run(const Job& job);
  void execute(const Job& job);
  void execute_kernels(Prepared& program);

  cl::CommandQueue queue_;
  SlotMemory& memory_;
  SpanRecorder& spans_;
  std::string id_;
  StepWaits waits_;
  sync::FirstFailure failure_;
  std::mutex mutex_;  // of what follows
  std::string running_;
  sync::Worker thread_;  // last: it uses everything above
};

}  // namespace tandem::opencl
