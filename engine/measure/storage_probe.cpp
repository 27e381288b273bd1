#include "engine/measure/storage_probe.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "sync/affinity.h"
#include "sync/block_reader.h"
#include "sync/clock.h"
#include "sync/descriptor.h"
#include "sync/error.h"
#include "sync/pool.h"

namespace tandem {
namespace {

constexpr size_t kBlock = size_t{1} << 20;
constexpr uint64_t kAtOnce = 32;
constexpr double kReadSeconds = 0.2;
// A step of this many blocks reaches all blocks of most files, in an order that no storage reads ahead.
constexpr uint64_t kStride = 40503;

uint64_t bytes_of(const Descriptor& file) {
  struct stat facts {};
  return ::fstat(file.get(), &facts) == 0 ? static_cast<uint64_t>(facts.st_size) : 0;
}

std::vector<sync::BlockRead> next_blocks(uint64_t& step, uint64_t blocks, std::byte* to) {
  std::vector<sync::BlockRead> reads;
  for (uint64_t i = 0; i < kAtOnce; ++i, ++step)
    reads.push_back({step * kStride % blocks * kBlock, to + i * kBlock, kBlock});
  return reads;
}

}  // namespace

std::optional<StorageRate> storage_rate(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw Error(std::string("cannot open a file (") + std::strerror(errno) + ")", path);
  const uint64_t blocks = bytes_of(file) / kBlock;
  if (blocks == 0) return std::nullopt;
  sync::Pool pool;
  sync::Slot& buffer = pool.acquire(kAtOnce * kBlock, sync::SlotUse::activations, "blocks of a file");
  std::memset(buffer.data(), 0, kAtOnce * kBlock);  // its pages exist before the clock starts
  sync::BlockReader reader(file.get(), path, sync::kBlockReads, usable_cores());
  uint64_t step = 0, bytes = 0;
  const double start = now_seconds();
  double seconds = 0;
  while (seconds < kReadSeconds) {
    reader.read(next_blocks(step, blocks, buffer.data()));
    bytes += kAtOnce * kBlock;
    seconds = now_seconds() - start;
  }
  return StorageRate{static_cast<double>(bytes) / seconds, reader.how()};
}

}  // namespace tandem
