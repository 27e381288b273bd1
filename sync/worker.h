// A thread that runs jobs one after another, in the order in which they were pushed.
//
// Contract
//   push() never blocks on a running job. An empty queue costs nothing: the thread sleeps. `idle` is work that
//   continues while no job waits, such as looking at a driver's queue. The thread calls it between jobs, after at least
//   one job, as long as it returns true (there is more). drain() waits until all pushed jobs and this work have ended,
//   or until the deadline has passed. Neither jobs nor `idle` may throw. The destructor runs the jobs that are still
//   queued and joins. An owner that wants to end sooner makes its jobs return early. Threads: any thread but the
//   worker's own may call push() and drain().
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

  // cores: where the thread may run; empty: anywhere. Error names them when the system refuses.
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
  std::thread thread_;                  // last member: it uses everything above
};

}  // namespace tandem::sync
