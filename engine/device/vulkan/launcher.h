// Runs programs in the order of the calls. A thread of the device waits for flags, submits a program, waits for its end
// and raises its flag.
//
// Contract
//   Programs that are launched together are queued before the first of them starts. So queueing many steps does not
//   compete for a core with running them.
//   launch() never blocks and never throws. A failure goes to the signal's flag, makes later launches fail without
//   running, and is thrown and cleared by the next finish().
//   Some programs wait only for flags that are up, or that earlier programs of this queue will raise. They are
//   submitted behind those programs at once, and barriers on the device keep the order.
//   Threads: launch() and finish() from one thread.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/lab/lab.h"
#include "engine/device/step_waits.h"
#include "engine/device/vulkan/prepared.h"
#include "engine/device/vulkan/stamps.h"
#include "engine/device/vulkan/timeline.h"
#include "sync/first_failure.h"
#include "sync/flag.h"
#include "sync/waiter.h"
#include "sync/worker.h"

namespace tandem::vulkan {

struct LauncherOptions {
  sync::Policy sync_policy = sync::Policy::predict;
  std::chrono::milliseconds wait_deadline = sync::kWaitDeadline;  // for a wait for flags, and for a submitted program
};

class Launcher {
 public:
  struct Job {
    std::shared_ptr<Prepared> program;
    std::vector<sync::WaitFor> waits;
    sync::Signal signal;
  };
  Launcher(Handle& handle, SlotMemory& memory, LauncherOptions options);
  ~Launcher();  // programs that have not started, or still wait for flags, fail their own flags
  void launch(std::vector<Job> jobs);
  void finish(std::chrono::milliseconds deadline);
  uint64_t copied_bytes() const { return copied_bytes_; }  // of all launches so far, besides weights
  void record_spans(bool on);
  std::vector<DeviceSpan> take_spans();

 private:
  struct Flying {  // a program that was submitted and is not known to have ended
    Job job;
    uint64_t value = 0;  // value of the timeline at its end
    OwnedFence fence;    // with --sync blocking only
    double start_seconds = 0;
    std::optional<Stamps::Place> stamps;
  };
  void run(Job job);
  bool end_one();                         // ends the oldest program in flight; true: there are more
  bool can_follow(const Job& job) const;  // whether it can be submitted behind the programs in flight
  void start(Job job);
  void end_oldest();
  void bring_weights(Prepared& program);
  void bring_changes(const Prepared& program);
  void submit(Flying flying, const std::string& object);
  // True: the host overslept, so the program may have ended earlier.
  bool wait_for_end(const Flying& oldest, std::chrono::milliseconds deadline);
  void give_up(const Job& job, const std::string& why);
  void outlive(Flying& late, const std::string& failure);

  Handle& handle_;
  SlotMemory& memory_;
  LauncherOptions options_;
  Timeline timeline_;
  Stamps stamps_;
  StepWaits waits_;
  std::deque<Flying> flying_;  // used by the launcher's thread alone

  sync::FirstFailure failure_;

  uint64_t uploads_ = 0;  // of weights
  std::atomic<uint64_t> copied_bytes_ = 0;
  std::mutex mutex_;  // guards what follows
  std::string running_;
  bool spans_on_ = false;
  std::vector<DeviceSpan> spans_;
  sync::Worker thread_;  // last: it uses everything above
};

}  // namespace tandem::vulkan
