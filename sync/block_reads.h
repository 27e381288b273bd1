// A way to read many blocks of a file at once: by io_uring or by threads.
//
// Contract: as BlockReader. start() and wait() take turns; blocks and `each` live until wait() has returned.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sync/block_file.h"

namespace tandem::sync {

class BlockReads {
 public:
  virtual ~BlockReads() = default;
  virtual void start(std::span<const BlockRead> blocks, const std::function<void(size_t block)>& each) = 0;
  virtual void wait() = 0;
  virtual std::string name() const = 0;  // "4 threads"
};

// cores: where the threads may run; empty: anywhere.
std::unique_ptr<BlockReads> threaded_reads(BlockFile& file, int threads, const std::vector<int>& cores);

// Nothing: the build has no liburing, or the system refuses it. `why` says so. Containers often refuse it.
std::unique_ptr<BlockReads> ring_reads(BlockFile& file, std::string& why);

}  // namespace tandem::sync
