#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "sync/affinity.h"
#include "sync/block_reads.h"

namespace tandem::sync {
namespace {

// Reads by threads that take block after block from one list. Each thread has one read in flight.
class ThreadedReads final : public BlockReads {
 public:
  ThreadedReads(BlockFile& file, int threads, const std::vector<int>& cores) : file_(file) {
    for (int i = 0; i < std::max(1, threads); ++i)
      threads_.emplace_back([this, cores] {
        if (!cores.empty()) pin_this_thread(cores);
        work();
      });
  }
  // A thread ends the block that it reads, and takes no further one.
  ~ThreadedReads() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    filled_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void start(std::span<const BlockRead> blocks, const std::function<void(size_t)>& each) override;
  void wait() override;
  std::string name() const override { return std::to_string(threads_.size()) + " threads"; }

 private:
  void work();
  void read_next(std::unique_lock<std::mutex>& lock);
  std::string read_block(const BlockRead& block);

  BlockFile& file_;
  std::mutex mutex_;
  std::condition_variable filled_, ended_;
  // Guarded by the mutex: the blocks of the present read.
  std::span<const BlockRead> blocks_;
  const std::function<void(size_t)>* each_ = nullptr;
  size_t next_ = 0, reading_ = 0;
  std::exception_ptr failure_;
  bool ending_ = false;
  std::vector<std::thread> threads_;  // last: they use everything above
};

// A thread sleeps until there are blocks or the object ends.
void ThreadedReads::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    filled_.wait(lock, [this] { return ending_ || next_ < blocks_.size(); });
    if (ending_) return;
    read_next(lock);
  }
}

// After a failure no further block begins.
void ThreadedReads::read_next(std::unique_lock<std::mutex>& lock) {
  const size_t index = next_++;
  ++reading_;
  const BlockRead block = blocks_[index];
  lock.unlock();
  std::exception_ptr problem;
  try {
    // `each` runs without the lock, since it may take long and other threads may read meanwhile.
    if (const std::string why = read_block(block); !why.empty()) throw file_.failure(block, why);
    if (*each_) (*each_)(index);
  } catch (...) {
    problem = std::current_exception();
  }
  lock.lock();
  --reading_;
  if (problem && !failure_) failure_ = problem;
  if (failure_) next_ = blocks_.size();
  if (reading_ == 0 && next_ == blocks_.size()) ended_.notify_all();
}

// Empty, or why it failed.
std::string ThreadedReads::read_block(const BlockRead& block) {
  for (size_t done = 0; done < block.bytes;) {
    const ssize_t got =
        ::pread(file_.descriptor(), block.to + done, block.bytes - done, static_cast<off_t>(block.offset + done));
    if (got > 0) {
      done += static_cast<size_t>(got);
      continue;
    }
    if (got == 0) return kTooShort;
    const int error = errno;
    // A file system may refuse direct reads only at the first one, which is then repeated through the page cache.
    if (error == EINTR || (error == EINVAL && file_.leave_direct())) continue;
    return std::strerror(error);
  }
  file_.drop_pages(block);
  return "";
}

// The list is set last: a thread may begin as soon as it is there.
void ThreadedReads::start(std::span<const BlockRead> blocks, const std::function<void(size_t)>& each) {
  const std::lock_guard lock(mutex_);
  each_ = &each;
  next_ = 0;
  failure_ = nullptr;
  blocks_ = blocks;
  filled_.notify_all();
}

// The list is emptied here, so that no thread reads on when the caller's memory may be gone.
void ThreadedReads::wait() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return reading_ == 0 && next_ == blocks_.size(); });
  blocks_ = {};
  next_ = 0;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace

std::unique_ptr<BlockReads> threaded_reads(BlockFile& file, int threads, const std::vector<int>& cores) {
  return std::make_unique<ThreadedReads>(file, threads, cores);
}

}  // namespace tandem::sync
