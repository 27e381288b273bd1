#include "sync/block_reads.h"

#ifdef TANDEM_HAS_LIBURING

#include <liburing.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "sync/error.h"

namespace tandem::sync {
namespace {

constexpr unsigned kAtOnce = 32;
// Lengths of reads are 32 bits wide.
constexpr size_t kMostBytes = size_t{1} << 30;

// Reads by io_uring: all reads of a round are submitted with one call of the system, and collected as they end.
class RingReads final : public BlockReads {
 public:
  explicit RingReads(BlockFile& file) : file_(file) {}
  ~RingReads() override {
    if (is_open_) io_uring_queue_exit(&ring_);
  }
  RingReads(const RingReads&) = delete;
  RingReads& operator=(const RingReads&) = delete;

  // Empty, or why not.
  std::string open();
  void start(std::span<const BlockRead> blocks, const std::function<void(size_t)>& each) override;
  void wait() override;
  std::string name() const override { return "io_uring, " + std::to_string(kAtOnce) + " reads at once"; }

 private:
  // A block whose read is in flight, or has brought a part of it.
  struct Read {
    size_t block = 0, done = 0;
  };
  void submit(Read* read, const BlockRead& block);
  void fill();
  void take_ended();
  bool goes_on(Read* read, const BlockRead& block, int result);
  void wait_for_one();

  BlockFile& file_;
  io_uring ring_{};
  bool is_open_ = false;
  std::array<Read, kAtOnce> reads_{};
  // Of the present read.
  std::span<const BlockRead> blocks_;
  const std::function<void(size_t)>* each_ = nullptr;
  size_t next_ = 0;
  std::vector<Read*> idle_;
  std::exception_ptr failure_;
};

// The kernel may lack io_uring, forbid it, or have it without reads. Each of these is a reason, and threads read then.
std::string RingReads::open() {
  const int status = io_uring_queue_init(kAtOnce, &ring_, 0);
  if (status < 0) return std::strerror(-status);
  is_open_ = true;
  io_uring_probe* probe = io_uring_get_probe_ring(&ring_);
  const bool reads = probe != nullptr && io_uring_opcode_supported(probe, IORING_OP_READ);
  io_uring_free_probe(probe);
  return reads ? "" : "the kernel's io_uring has no reads";
}

// A read that was cut short goes on behind what it has.
void RingReads::submit(Read* read, const BlockRead& block) {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  TANDEM_CHECK(entry != nullptr, "as many entries as reads in flight");
  const size_t bytes = std::min(block.bytes - read->done, kMostBytes);
  io_uring_prep_read(entry, file_.descriptor(), block.to + read->done, static_cast<unsigned>(bytes),
                     block.offset + read->done);
  io_uring_sqe_set_data(entry, read);
}

// Submits what is prepared and sleeps until a read has ended.
void RingReads::wait_for_one() {
  int status = 0;
  do {
    status = io_uring_submit_and_wait(&ring_, 1);
  } while (status == -EINTR);
  // Without its ring nobody can know which memory is still being written.
  TANDEM_CHECK(status >= 0 || status == -EAGAIN || status == -EBUSY, "io_uring takes reads");
}

// Whether the same block is read on. An error of the file is kept as the failure.
bool RingReads::goes_on(Read* read, const BlockRead& block, int result) {
  if (result > 0) {
    read->done += static_cast<size_t>(result);
    return read->done < block.bytes;
  }
  if (result == -EINTR || result == -EAGAIN || (result == -EINVAL && file_.leave_direct())) return true;
  throw file_.failure(block, result == 0 ? kTooShort : std::strerror(-result));
}

// Takes every completion that the kernel has. A short or interrupted read goes on where it stopped. After the first
// failure nothing new is submitted, and the reads in flight are only collected.
void RingReads::take_ended() {
  io_uring_cqe* ended = nullptr;
  while (io_uring_peek_cqe(&ring_, &ended) == 0) {
    auto* read = static_cast<Read*>(io_uring_cqe_get_data(ended));
    const int result = ended->res;
    io_uring_cqe_seen(&ring_, ended);
    const BlockRead& block = blocks_[read->block];
    try {
      if (goes_on(read, block, result)) {
        if (!failure_) {
          submit(read, block);
          continue;
        }
      } else {
        file_.drop_pages(block);
        if (*each_) (*each_)(read->block);
      }
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
    }
    idle_.push_back(read);
  }
}

// Submits as many blocks as may be in flight. After a failure no further block begins.
void RingReads::fill() {
  while (next_ < blocks_.size() && !failure_ && !idle_.empty()) {
    *idle_.back() = {next_, 0};
    submit(idle_.back(), blocks_[next_++]);
    idle_.pop_back();
  }
}

// The system may refuse entries for now; wait() submits them again.
void RingReads::start(std::span<const BlockRead> blocks, const std::function<void(size_t)>& each) {
  blocks_ = blocks;
  each_ = &each;
  next_ = 0;
  failure_ = nullptr;
  idle_.clear();
  for (Read& read : reads_) idle_.push_back(&read);
  fill();
  io_uring_submit(&ring_);
}

// After a failure those in flight are waited for.
void RingReads::wait() {
  for (fill(); idle_.size() < kAtOnce; fill()) {
    wait_for_one();
    take_ended();
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace

// A caller without a ring gets the reason, for the report of how blocks are read.
std::unique_ptr<BlockReads> ring_reads(BlockFile& file, std::string& why) {
  auto ring = std::make_unique<RingReads>(file);
  why = ring->open();
  if (!why.empty()) return nullptr;
  return ring;
}

}  // namespace tandem::sync

#else

namespace tandem::sync {

std::unique_ptr<BlockReads> ring_reads(BlockFile&, std::string& why) {
  why = "this build has no liburing";
  return nullptr;
}

}  // namespace tandem::sync

#endif
