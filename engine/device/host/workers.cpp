#include "engine/device/host/workers.h"

#include "sync/affinity.h"

namespace tandem::host {

// The caller of run() is thread 0, so one thread fewer is started.
Workers::Workers(int threads, const std::vector<int>& cores) {
  try {
    for (int thread = 1; thread < threads; ++thread)
      threads_.emplace_back([this, thread, cores] {
        pin_this_thread(cores);
        serve(thread);
      });
  } catch (...) {  // the system refused a thread: stop those that run
    stop();
    throw;
  }
}

Workers::~Workers() { stop(); }

void Workers::stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// Publishes the work under a new generation number, takes share 0 on the calling thread and waits for the others.
// `part` is borrowed, so the call returns only when every thread has ended its share.
void Workers::run(int64_t count, const std::function<void(int64_t, int64_t, int)>& part) {
  if (threads_.empty() || count <= 1) return part(0, count, 0);
  {
    std::lock_guard lock(mutex_);
    part_ = &part;
    count_ = count;
    busy_ = static_cast<int>(threads_.size());
    ++generation_;
  }
  wake_.notify_all();
  run_share(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
}

// Sleeps until there is a generation that this thread has not seen, runs its share and reports its end.
void Workers::serve(int thread) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
    if (stop_) return;
    seen = generation_;
    lock.unlock();
    run_share(thread);
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

// Shares are runs of consecutive numbers whose lengths differ by at most one.
void Workers::run_share(int thread) const {
  const int64_t begin = count_ * thread / threads(), end = count_ * (thread + 1) / threads();
  if (begin < end) (*part_)(begin, end, thread);
}

}  // namespace tandem::host
