// A few threads that share one command: the queue's worker leads, and helpers on further cores take parts.
//
// Contract
//   run() gives part 0 to the caller and parts 1 .. size()-1 to the helpers, and returns when all are done. It rethrows
//   the first exception of a part. One caller at a time. Every part sees everything written before run(), and
//   everything a part wrote is visible after run().
//   A helper without work spins for a moment (decode starts work every few microseconds, and a wake-up takes 20) and
//   then sleeps. A core that cannot be used is a tandem::Error of the constructor.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "sync/flag.h"
#include "sync/pool.h"

namespace tandem::npu_emu {

// Pins a thread to a core; throws an Error that names the core if the system refuses.
void tie_to_core(std::thread& thread, int core);

class Team {
 public:
  explicit Team(const std::vector<int>& helper_cores);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(helpers_.size()) + 1; }
  void run(const std::function<void(int part)>& work);

 private:
  struct Helper {
    sync::Flag done;
    std::exception_ptr failure;
    std::thread thread;
  };
  void start(uint32_t epoch);
  void help(Helper& helper, int part);
  void await_start(uint32_t epoch);
  void stop();

  sync::Pool pool_;
  sync::FlagBank bank_;
  sync::Flag started_;
  uint32_t epoch_ = 0;
  const std::function<void(int)>* work_ = nullptr;  // published by started_; nullptr ends the helpers
  std::mutex mutex_;
  std::condition_variable wake_;
  int sleeping_ = 0;
  std::vector<std::unique_ptr<Helper>> helpers_;
};

}  // namespace tandem::npu_emu
