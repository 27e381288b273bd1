// A thread that runs jobs one after another, in the order in which they were pushed.
//
// Contract
//   push() never blocks on a running job. An empty queue costs nothing: the thread sleeps. `idle` is what goes on while
//   no job waits (a driver's queue that must be looked at): it is called between jobs, after at least one of them, as
//   long as it says that there is more. drain() waits until everything pushed has ended, that included, or until the
//   deadline has passed. Neither jobs nor `idle` may throw. The destructor runs what is still queued and joins: whoever
//   wants less tells the jobs. Threads: push() and drain() from any thread but the worker's own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tandem::sync {

class Worker {
 public:
  using Job = std::function<void()>;

  // cores: where it may run; empty: anywhere. Error naming them when the system refuses.
  explicit Worker(const std::vector<int>& cores = {}, std::function<bool()> idle = {});
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void push(Job job);
  bool drain(std::chrono::milliseconds deadline);  // false: the deadline passed

 private:
  void work();
  void run_next(std::unique_lock<std::mutex>& lock);
  void stop();

  const std::function<bool()> idle_;
  std::mutex mutex_;
  std::condition_variable filled_, emptied_;
  std::deque<Job> jobs_;
  bool busy_ = false, ending_ = false;  // busy_: a job runs, or idle_ has more to do
  std::thread thread_;                  // last: it uses everything above
};

}  // namespace tandem::sync
