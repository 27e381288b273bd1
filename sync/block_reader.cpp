#include "sync/block_reader.h"

#include <fcntl.h>

#include <exception>
#include <utility>

#include "sync/descriptor.h"
#include "sync/error.h"

namespace tandem::sync {

// The method that was asked for is tried first, and threads read if it is not there.
BlockReader::BlockReader(int file, std::string path, int threads, const std::vector<int>& cores, BlockMethod method)
    : file_(file, std::move(path)) {
  std::string ignored;
  if (method == BlockMethod::ring) reads_ = ring_reads(file_, ignored);
  if (!reads_) reads_ = threaded_reads(file_, threads, cores);
}

std::string BlockReader::how() const {
  return reads_->name() + ", " + (past_page_cache() ? "past" : "through") + " the page cache";
}

BlockReader::~BlockReader() {
  try {
    wait();
  } catch (const std::exception&) {
    // Nobody waits for these blocks any more.
  }
}

void BlockReader::read(std::span<const BlockRead> blocks, const std::function<void(size_t)>& each) {
  start({blocks.begin(), blocks.end()}, each);
  wait();
}

// Blocks and callback are kept here, because reads refer to them until wait() ends.
void BlockReader::start(std::vector<BlockRead> blocks, std::function<void(size_t)> each) {
  TANDEM_CHECK(blocks_.empty(), "one read at a time");
  if (blocks.empty()) return;
  blocks_ = std::move(blocks);
  each_ = std::move(each);
  reads_->start(blocks_, each_);
}

void BlockReader::wait() {
  if (blocks_.empty()) return;
  const auto ended = std::exchange(blocks_, {});  // kept until the end
  reads_->wait();
}

// A ring on a file that is always there shows whether the system has reads by io_uring.
std::string block_method_here() {
  const Descriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return "threads";
  BlockFile null(file.get(), "/dev/null");
  std::string why;
  return ring_reads(null, why) ? "io_uring" : "threads (" + why + ")";
}

}  // namespace tandem::sync
