// Reads blocks of a file from storage, many at once, past the system's page cache.
//
// Files that are larger than the memory are read in blocks of a megabyte or so. Pages of a mapping would come 4 KiB at
// a time, and would push out the pages of other programs. Several reads at once keep the storage busy.
//
// Contract
//   read() returns when all blocks are in memory. Addresses, offsets and lengths are multiples of 4096. `each` is
//   called for every block that has arrived, on any thread and possibly at the same time; its exception ends the read.
//   Some file systems refuse reads past their page cache. The reader then reads through it, and drops the pages.
//   Error: a read that fails, or a file that ends too early; it names the file. Blocks may have any content then.
//   Threads: one call of read() at a time. Ownership: opens the file again, so the caller may close its descriptor.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace tandem::sync {

// So many reads at once keep an NVMe disk busy.
inline constexpr int kBlockReads = 8;

struct BlockRead {
  uint64_t offset = 0;
  std::byte* to = nullptr;
  size_t bytes = 0;
};

class BlockReader {
 public:
  // file: an open descriptor of it. path: for messages. cores: where the threads may run; empty: anywhere.
  BlockReader(int file, std::string path, int threads, const std::vector<int>& cores = {});
  ~BlockReader();
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  void read(std::span<const BlockRead> blocks, const std::function<void(size_t block)>& each = {});
  bool past_page_cache() const { return direct_; }
  std::string how() const;  // "4 threads, past the page cache"

 private:
  void work();
  void read_next(std::unique_lock<std::mutex>& lock);
  std::string read_block(const BlockRead& block);

  const std::string path_;
  int file_ = -1;
  std::atomic<bool> direct_{true};
  std::mutex mutex_;
  std::condition_variable filled_, ended_;
  // Guarded by the mutex: the blocks of the present call.
  std::span<const BlockRead> blocks_;
  const std::function<void(size_t)>* each_ = nullptr;
  size_t next_ = 0, reading_ = 0;
  std::exception_ptr failure_;
  bool ending_ = false;
  std::vector<std::thread> threads_;  // last: they use everything above
};

}  // namespace tandem::sync
