// Runs programs in the order of the calls: a thread of the device waits for flags, submits, learns the end and raises
// the flag.
//
// Contract
//   launch() never blocks and never throws. A failure goes to the signal's flag, makes later launches fail without
//   running, and is thrown and cleared by the next finish(). Threads: launch() and finish() from one thread.
//   A program that waits only for flags which are up, or which programs in front of it in this queue will raise, is
//   submitted behind them without a turn through the host: barriers on the device keep the order.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/device/vulkan/prepared.h"
#include "engine/device/vulkan/stamps.h"
#include "engine/device/vulkan/timeline.h"
#include "sync/flag.h"
#include "sync/waiter.h"

namespace tandem::vulkan {

struct LauncherOptions {
  std::string sync_policy = "predict";
  std::chrono::milliseconds wait_deadline{10000};      // for flags of others
  std::chrono::milliseconds program_deadline{300000};  // for a submitted program
};

class Launcher {
 public:
  Launcher(Handle& handle, SlotMemory& memory, LauncherOptions options);
  ~Launcher();  // programs that have not started fail their flags, the one that waits for others' flags too
  void launch(std::shared_ptr<Prepared> program, std::span<const sync::WaitFor> waits, sync::Signal signal);
  void batch(bool open);  // open: programs are held back until it is closed, or finish()
  void finish(std::chrono::milliseconds deadline);
  void record_spans(bool on);
  std::vector<DeviceSpan> take_spans();

 private:
  struct Job {
    std::shared_ptr<Prepared> program;
    std::vector<sync::WaitFor> waits;
    sync::Signal signal;
  };
  struct Flying {  // submitted, not known to have ended
    Job job;
    uint64_t value = 0;  // of the timeline at its end
    OwnedFence fence;    // "blocking" only
    double start_seconds = 0;
    std::optional<Stamps::Place> stamps;
  };
  void run();
  bool can_follow(const Job& job) const;  // without a turn through the host
  void start(Job job, sync::Waiter& waiter);
  void wait_for_flags(const Job& job, sync::Waiter& waiter);  // Error also when the device is closed meanwhile
  void end_oldest();
  void submit(Flying flying, const std::string& object);
  bool wait_for_end(const Flying& oldest, std::chrono::milliseconds deadline);  // true: it may have ended earlier
  void give_up(const Job& job, const std::string& why);

  Handle& handle_;
  SlotMemory& memory_;
  LauncherOptions options_;
  Timeline timeline_;
  Stamps stamps_;
  std::deque<Flying> flying_;  // of the launcher's thread

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  size_t unfinished_ = 0;  // queued or flying
  std::string failure_, running_;
  bool stop_ = false, held_ = false, spans_on_ = false;
  std::vector<DeviceSpan> spans_;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace tandem::vulkan
