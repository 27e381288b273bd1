// The launcher that works everywhere: a thread of the device waits for flags on the host, queues the program, waits for
// it, raises the flag. Used with --sync blocking, where memory is not shared, and where gate kernels do not pass the
// start-up test.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/device/opencl/launcher.h"
#include "sync/waiter.h"

namespace tandem::opencl {

class HostLauncher final : public Launcher {
 public:
  HostLauncher(cl::CommandQueue queue, SlotMemory& memory, SpanRecorder& spans, std::string id, std::string sync_policy,
               std::chrono::milliseconds wait_deadline);
  ~HostLauncher() override;  // queued programs that have not started fail their flags
  void launch(std::shared_ptr<Prepared> program, std::span<const sync::WaitFor> waits, sync::Signal signal) override;
  void batch(bool) override {}  // its thread enqueues one program at a time
  void finish(std::chrono::milliseconds deadline) override;

 private:
  struct Job {
    std::shared_ptr<Prepared> program;
    std::vector<sync::WaitFor> waits;
    sync::Signal signal;
  };
  void run();
  void execute(const Job& job, sync::Waiter& waiter);
  void wait_for_flags(const Job& job, sync::Waiter& waiter);
  void execute_kernels(Prepared& program);

  cl::CommandQueue queue_;
  SlotMemory& memory_;
  SpanRecorder& spans_;
  std::string id_, sync_policy_;
  std::chrono::milliseconds wait_deadline_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;  // the front one is running
  std::string failure_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace tandem::opencl
