#include "sync/block_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sync/affinity.h"
#include "sync/error.h"

namespace tandem::sync {

// A second descriptor of the same file, whatever its name is by now.
BlockReader::BlockReader(int file, std::string path, int threads, const std::vector<int>& cores)
    : path_(std::move(path)) {
  const std::string same = "/proc/self/fd/" + std::to_string(file);
  file_ = ::open(same.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (file_ < 0) {
    direct_ = false;
    file_ = ::open(same.c_str(), O_RDONLY | O_CLOEXEC);
  }
  if (file_ < 0) throw Error(std::string("cannot open a file again (") + std::strerror(errno) + ")", path_);
  for (int i = 0; i < std::max(1, threads); ++i)
    threads_.emplace_back([this, cores] {
      if (!cores.empty()) pin_this_thread(cores);
      work();
    });
}

BlockReader::~BlockReader() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  filled_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  ::close(file_);
}

std::string BlockReader::how() const {
  return std::to_string(threads_.size()) + " threads, " + (direct_ ? "past" : "through") + " the page cache";
}

void BlockReader::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    filled_.wait(lock, [this] { return ending_ || next_ < blocks_.size(); });
    if (ending_) return;
    read_next(lock);
  }
}

// After a failure no further block begins.
void BlockReader::read_next(std::unique_lock<std::mutex>& lock) {
  const size_t index = next_++;
  ++reading_;
  const BlockRead block = blocks_[index];
  lock.unlock();
  std::exception_ptr problem;
  try {
    if (const std::string why = read_block(block); !why.empty())
      throw Error("cannot read a block of a file (" + why + ")",
                  path_ + ": " + std::to_string(block.bytes) + " bytes at " + std::to_string(block.offset));
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

// A file system that opens a file without its page cache may still refuse to read it so (EINVAL).
std::string BlockReader::read_block(const BlockRead& block) {
  for (size_t done = 0; done < block.bytes;) {
    const ssize_t got = ::pread(file_, block.to + done, block.bytes - done, static_cast<off_t>(block.offset + done));
    if (got > 0) {
      done += static_cast<size_t>(got);
      continue;
    }
    if (got == 0) return "it is too short";
    if (errno == EINTR) continue;
    if (errno != EINVAL || !direct_.exchange(false)) return std::strerror(errno);
    const int flags = ::fcntl(file_, F_GETFL);
    if (flags < 0 || ::fcntl(file_, F_SETFL, flags & ~O_DIRECT) < 0) return std::strerror(errno);
  }
  if (!direct_)
    ::posix_fadvise(file_, static_cast<off_t>(block.offset), static_cast<off_t>(block.bytes), POSIX_FADV_DONTNEED);
  return "";
}

void BlockReader::read(std::span<const BlockRead> blocks, const std::function<void(size_t)>& each) {
  if (blocks.empty()) return;
  std::unique_lock lock(mutex_);
  each_ = &each;
  next_ = 0;
  failure_ = nullptr;
  blocks_ = blocks;
  filled_.notify_all();
  ended_.wait(lock, [this] { return reading_ == 0 && next_ == blocks_.size(); });
  blocks_ = {};
  next_ = 0;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace tandem::sync
