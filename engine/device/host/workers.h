// A few threads that share the parts of one operator. They sleep between operators.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tandem::host {

// Contract: one thread calls run() and takes part in it. run() returns when all parts have ended. Parts must not throw.
class Workers {
 public:
  // cores: where the threads may run; empty: where the creating thread may.
  Workers(int threads, const std::vector<int>& cores);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int threads() const { return static_cast<int>(threads_.size()) + 1; }
  // Calls part(begin, end, thread) over [0, count). Each thread gets one run of consecutive numbers.
  void run(int64_t count, const std::function<void(int64_t begin, int64_t end, int thread)>& part);

 private:
  void stop();
  void serve(int thread);
  void run_share(int thread) const;

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int64_t, int64_t, int)>* part_ = nullptr;  // borrowed during run()
  int64_t count_ = 0;
  uint64_t generation_ = 0;
  int busy_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tandem::host
