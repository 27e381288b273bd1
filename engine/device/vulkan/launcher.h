// Runs programs in the order of the calls: a thread of the device waits for flags, submits, learns the end and raises
// the flag.
//
// Contract
//   Programs that are launched together are queued before the first of them starts: queueing many steps does not
//   compete with running them for a core. launch() never blocks and never throws. A failure goes to the signal's flag,
//   makes later launches fail without running, and is thrown and cleared by the next finish(). Threads: launch() and
//   finish() from one thread. A program that waits only for flags which are up, or which programs in front of it in
//   this queue will raise, is submitted behind them without a turn through the host: barriers on the device keep the
//   order.
#pragma once

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
  std::chrono::milliseconds wait_deadline = sync::kWaitDeadline;  // for flags of others, and for a submitted program
};

class Launcher {
 public:
  struct Job {
    std::shared_ptr<Prepared> program;
    std::vector<sync::WaitFor> waits;
    sync::Signal signal;
  };
  Launcher(Handle& handle, SlotMemory& memory, LauncherOptions options);
  ~Launcher();  // programs that have not started fail their flags, the one that waits for others' flags too
  void launch(std::vector<Job> jobs);
  void finish(std::chrono::milliseconds deadline);
  void record_spans(bool on);
  std::vector<DeviceSpan> take_spans();

 private:
  struct Flying {  // submitted, not known to have ended
    Job job;
    uint64_t value = 0;  // of the timeline at its end
    OwnedFence fence;    // "blocking" only
    double start_seconds = 0;
    std::optional<Stamps::Place> stamps;
  };
  void run(Job job);
  bool end_one();                         // of those that fly; whether more do
  bool can_follow(const Job& job) const;  // without a turn through the host
  void start(Job job);
  void end_oldest();
  void submit(Flying flying, const std::string& object);
  bool wait_for_end(const Flying& oldest, std::chrono::milliseconds deadline);  // true: it may have ended earlier
  void give_up(const Job& job, const std::string& why);
  void outlive(Flying& late, const std::string& failure);

  Handle& handle_;
  SlotMemory& memory_;
  LauncherOptions options_;
  Timeline timeline_;
  Stamps stamps_;
  StepWaits waits_;
  std::deque<Flying> flying_;  // of the launcher's thread

  sync::FirstFailure failure_;

  std::mutex mutex_;  // guards what follows
  std::string running_;
  bool spans_on_ = false;
  std::vector<DeviceSpan> spans_;
  sync::Worker thread_;  // last: it uses everything above
};

}  // namespace tandem::vulkan
