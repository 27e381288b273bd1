#include "sync/block_reader.h"

#include <fcntl.h>

#include <utility>

#include "sync/descriptor.h"

namespace tandem::sync {

BlockReader::BlockReader(int file, std::string path, int threads, const std::vector<int>& cores, BlockMethod method)
    : file_(file, std::move(path)) {
  std::string ignored;
  if (method == BlockMethod::ring) reads_ = ring_reads(file_, ignored);
  if (!reads_) reads_ = threaded_reads(file_, threads, cores);
}

std::string BlockReader::how() const {
  return reads_->name() + ", " + (past_page_cache() ? "past" : "through") + " the page cache";
}

void BlockReader::read(std::span<const BlockRead> blocks, const std::function<void(size_t)>& each) {
  if (!blocks.empty()) reads_->read(blocks, each);
}

std::string block_method_here() {
  const Descriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return "threads";
  BlockFile null(file.get(), "/dev/null");
  std::string why;
  return ring_reads(null, why) ? "io_uring" : "threads (" + why + ")";
}

}  // namespace tandem::sync
