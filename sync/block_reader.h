// Reads blocks of a file from storage, many at once, past the system's page cache.
//
// Files that are larger than the memory are read in blocks of a megabyte or so. Pages of a mapping would come 4 KiB at
// a time, and would push out the pages of other programs. Several reads at once keep the storage busy.
//
// Contract
//   read() returns when all blocks are in memory. start() returns at once, and wait() when they are in memory. `each`
//   is called for every block that has arrived, on any thread and possibly at the same time; its exception ends the
//   read. Reads go by io_uring, or by threads where the build or the system has none. Some file systems refuse reads
//   past their page cache. The reader then reads through it, and drops the pages. Error: a read that fails, or a file
//   that ends too early; it names the file. Blocks may have any content then. Threads: one read at a time. Ownership:
//   opens the file again, so the caller may close its descriptor. The memory of blocks belongs to the caller; the
//   destructor waits for a read that was started.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sync/block_file.h"
#include "sync/block_reads.h"

namespace tandem::sync {

// So many reads at once keep an NVMe disk busy, if threads read.
inline constexpr int kBlockReads = 8;

enum class BlockMethod { ring, threads };  // ring: threads where there is no io_uring

class BlockReader {
 public:
  // file: an open descriptor of it. path: for messages. cores: where the threads may run; empty: anywhere.
  BlockReader(int file, std::string path, int threads, const std::vector<int>& cores = {},
              BlockMethod method = BlockMethod::ring);

  ~BlockReader();
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  void read(std::span<const BlockRead> blocks, const std::function<void(size_t block)>& each = {});
  void start(std::vector<BlockRead> blocks, std::function<void(size_t block)> each = {});
  void wait();  // for the read that was started; without one it returns at once
  bool past_page_cache() const { return file_.past_page_cache(); }
  std::string how() const;  // "4 threads, past the page cache"

 private:
  BlockFile file_;
  std::unique_ptr<BlockReads> reads_;  // never nullptr
  // Of the read that was started; without blocks there is none.
  std::vector<BlockRead> blocks_;
  std::function<void(size_t)> each_;
};

// How blocks are read on this system: "io_uring", or "threads (Operation not permitted)".
std::string block_method_here();

}  // namespace tandem::sync
