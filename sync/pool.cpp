#include "sync/pool.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sync/error.h"

namespace tandem::sync {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kHugePageBytes = size_t{2} << 20;
// Activations of this size get huge pages, the last one perhaps half empty: with small ones a matrix of a few hundred
// rows touches more pages than a core's first-level table holds (a product over 128 x 1536 floats on PoCL: 194 GFLOP/s,
// with huge pages 223). There are few of them; rounding up each layer's cache would double it.
constexpr size_t kWorthHugePages = size_t{512} << 10;

size_t round_up(size_t bytes, size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

uint64_t next_slot_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

struct Pool::Entry {
  Slot slot;
  bool in_use = true;
  std::byte* mapping = nullptr;  // what mmap returned; the slot may start later, on a huge page boundary
  size_t mapping_bytes = 0;
};

Pool::Pool() = default;

Pool::~Pool() {
  for (auto& entry : entries_) munmap(entry->mapping, entry->mapping_bytes);
}

Slot& Pool::acquire(size_t bytes, SlotUse use, std::string label) {
  TANDEM_CHECK(bytes > 0, "a slot needs a size: " + label);
  const size_t size = round_up(bytes, kPageBytes);
  std::lock_guard lock(mutex_);
  Entry* best = nullptr;
  for (auto& entry : entries_) {
    const bool fits = !entry->in_use && entry->slot.use_ == use && entry->slot.size_bytes_ >= size &&
                      entry->slot.size_bytes_ <= 2 * size;
    if (fits && (!best || entry->slot.size_bytes_ < best->slot.size_bytes_)) best = entry.get();
  }
  if (best) {
    best->in_use = true;
    best->slot.label_ = std::move(label);
    std::memset(best->slot.data_, 0, best->slot.size_bytes_);
    return best->slot;
  }
  auto entry = std::make_unique<Entry>();
  const bool round = use == SlotUse::activations && size >= kWorthHugePages;
  const bool huge = round || size >= kHugePageBytes;
  const size_t advised = round ? round_up(size, kHugePageBytes) : size;  // what lies behind the last whole one is small
  entry->mapping_bytes = huge ? advised + kHugePageBytes : size;
  void* mapping = mmap(nullptr, entry->mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    throw Error(std::string("cannot map shared memory (") + std::strerror(errno) + ")",
                label + ", " + std::to_string(size) + " bytes", "Use a smaller model or context, or free memory");
  }
  entry->mapping = static_cast<std::byte*>(mapping);
  entry->slot.data_ = entry->mapping;
  if (huge) {
    const auto address = reinterpret_cast<uintptr_t>(mapping);
    entry->slot.data_ += round_up(address, kHugePageBytes) - address;
    madvise(entry->slot.data_, advised, MADV_HUGEPAGE);  // a wish: without huge pages everything still works
  }
  entry->slot.size_bytes_ = size;
  entry->slot.id_ = next_slot_id();
  entry->slot.use_ = use;
  entry->slot.label_ = std::move(label);
  entries_.push_back(std::move(entry));
  return entries_.back()->slot;
}

void Pool::release(Slot& slot) {
  std::lock_guard lock(mutex_);
  for (auto& entry : entries_) {
    if (&entry->slot != &slot) continue;
    TANDEM_CHECK(entry->in_use, "slot released twice: " + slot.label());
    entry->in_use = false;
    return;
  }
  throw Error("a slot was given back to a pool that does not own it", slot.label());
}

size_t Pool::mapped_bytes() const {
  std::lock_guard lock(mutex_);
  size_t sum = 0;
  for (const auto& entry : entries_) sum += entry->slot.size_bytes_;
  return sum;
}

}  // namespace tandem::sync
