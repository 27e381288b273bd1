#include "sync/worker.h"

#include <cstring>
#include <string>
#include <utility>

#include "sync/affinity.h"
#include "sync/deadline.h"
#include "sync/error.h"

namespace tandem::sync {
namespace {

// Pins the thread, or throws an Error that names the cores and the system's reason.
void tie(std::thread& thread, const std::vector<int>& cores) {
  const int code = pin_thread(thread, cores);
  if (code == 0) return;
  std::string names;
  for (const int core : cores) names += (names.empty() ? "" : ", ") + std::to_string(core);
  throw Error("cannot tie a device's thread to its cores", "core " + names + ": " + std::strerror(code),
              "name cores that this process may use");
}

}  // namespace

Worker::Worker(const std::vector<int>& cores, std::function<bool()> idle)
    : idle_(std::move(idle)), thread_([this] { work(); }) {
  if (cores.empty()) return;
  try {
    tie(thread_, cores);
  } catch (...) {
    // After an exception of the constructor no destructor runs, so the thread must be joined here.
    stop();
    throw;
  }
}

Worker::~Worker() { stop(); }

// The thread runs what is queued before it ends.
void Worker::stop() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  filled_.notify_one();
  thread_.join();
}

void Worker::push(Job job) {
  bool asleep;
  {
    std::lock_guard lock(mutex_);
    asleep = jobs_.empty() && !busy_;
    jobs_.push_back(std::move(job));
  }
  // A busy thread looks into the queue by itself, and a wake-up costs the caller a system call.
  if (asleep) filled_.notify_one();
}

// The wait is cut into slices, so that a suspended machine does not miss the deadline for long.
bool Worker::drain(std::chrono::milliseconds deadline) {
  std::unique_lock lock(mutex_);
  const auto is_empty = [&] { return jobs_.empty() && !busy_; };
  for (Deadline end(deadline); !emptied_.wait_for(lock, end.slice(), is_empty);)
    if (end.passed()) return false;
  return true;
}

// Runs jobs and turns of `idle` until the destructor has set ending_ and neither has more to do.
void Worker::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    filled_.wait(lock, [&] { return !jobs_.empty() || busy_ || ending_; });
    if (jobs_.empty() && !busy_) return;
    run_next(lock);
    if (jobs_.empty() && !busy_) emptied_.notify_all();
  }
}

// Runs the next job, or one turn of `idle` when no job waits. Holds the lock on entry and on return, but not during
// the job.
void Worker::run_next(std::unique_lock<std::mutex>& lock) {
  bool more = static_cast<bool>(idle_);
  if (jobs_.empty()) {
    lock.unlock();
    more = idle_();
  } else {
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    job();
    job = nullptr;  // releases what the job holds before this thread takes the lock
  }
  lock.lock();
  busy_ = more;
}

}  // namespace tandem::sync
