#include "sync/pool.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sync/error.h"

namespace tandem::sync {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kHugePageBytes = size_t{2} << 20;
// Activations of this size get huge pages. With small pages, a matrix of a few hundred rows touches more pages than a
// core's first-level table holds. A product over 128 x 1536 floats on PoCL ran at 194 GFLOP/s, and at 223 with huge
// pages. These activations lie side by side, because a huge page is in memory as a whole. One huge page for each took
// 17 MB for 8.6 MB of activations.
// Device-local slots keep small pages: a cache fills slowly, a little at the beginning of every head's part. With huge
// pages, the first token of a 1.2 B model touched all 134 MB of it. Zeroing them took as much time as zeroing the
// weights' pages.
constexpr size_t kWorthHugePages = size_t{512} << 10;
constexpr size_t kArenaBytes = size_t{64} << 20;  // mapped at once for them; costs nothing until it is touched

size_t round_up(size_t bytes, size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

uint64_t next_slot_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

struct Pool::Entry {
  Slot slot;
  bool in_use = true;
  bool reusable = true;
};

// The last access by a keeper comes before whatever is_kept() allows afterwards.
std::shared_ptr<const void> Slot::keep() const {
  TANDEM_CHECK(keeping_ != nullptr, "the memory of this slot cannot be kept: " + label_);
  keeping_->count.fetch_add(1, std::memory_order_relaxed);
  return {data_, [keeping = keeping_](const void*) { keeping->count.fetch_sub(1, std::memory_order_release); }};
}

Pool::Pool() = default;
Pool::~Pool() = default;

Pool::Mapping::~Mapping() {
  if (base != nullptr) munmap(base, mapped_bytes);
}

// huge: maps 2 MiB more, so that the slots can begin at a huge page boundary.
Pool::Mapping& Pool::map(size_t bytes, bool huge, const std::string& label) {
  const auto made = std::make_shared<Mapping>();
  Mapping& mapping = *made;
  mapping.mapped_bytes = huge ? bytes + kHugePageBytes : bytes;
  void* base = mmap(nullptr, mapping.mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) {
    throw Error(std::string("cannot map shared memory (") + std::strerror(errno) + ")",
                label + ", " + std::to_string(bytes) + " bytes", "Use a smaller model or context, or free memory");
  }
  mapping.base = mapping.begin = static_cast<std::byte*>(base);
  mapping.bytes = bytes;
  const auto address = reinterpret_cast<uintptr_t>(base);
  if (huge) mapping.begin += round_up(address, kHugePageBytes) - address;
  mappings_.push_back(made);
  return mapping;
}

// Clears flag lines word by word, with atomics. A thread that raised a flag of the previous bank may still read whether
// a thread sleeps there (sync/flag.cpp). The worst result of that read is a needless wake-up.
void Pool::clear(Slot& slot) {
  if (slot.use_ != SlotUse::flags) {
    std::memset(slot.data_, 0, slot.size_bytes_);
    return;
  }
  for (uint32_t& word : std::span(reinterpret_cast<uint32_t*>(slot.data_), slot.size_bytes_ / sizeof(uint32_t)))
    std::atomic_ref(word).store(0, std::memory_order_relaxed);
}

// Returns the next bytes of the arena, or the first bytes of a new arena when they do not fit.
std::byte* Pool::from_arena(size_t size, const std::string& label) {
  if (arena_ == nullptr || arena_->used + size > arena_->bytes) {
    arena_ = &map(round_up(std::max(size, kArenaBytes), kHugePageBytes), true, label);
  }
  std::byte* place = arena_->begin + arena_->used;
  arena_->used += size;
  // Asks for huge pages for the bytes in use, and for the last page if at least half of it is in use. If the system
  // refuses, everything still works.
  madvise(arena_->begin, (arena_->used + kHugePageBytes / 2) / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);
  return place;
}

// Reuses the smallest fitting released slot, else maps a new one. A new slot counts as promised memory, except a
// device-local one.
void Slot::divide(size_t part_bytes) {
  TANDEM_CHECK(part_bytes > 0, "parts of a slot");
  part_bytes_ = part_bytes;
  changes_ = std::make_unique<std::atomic<uint64_t>[]>(parts());
}

void Slot::changed(size_t offset, size_t bytes) const {
  if (!is_divided() || bytes == 0) return;
  for (size_t part = offset / part_bytes_; part <= (offset + bytes - 1) / part_bytes_; ++part)
    changes_[part].fetch_add(1, std::memory_order_release);
}

Slot& Pool::acquire(size_t bytes, SlotUse use, std::string label, bool keepable) {
  TANDEM_CHECK(bytes > 0, "a slot needs a size: " + label);
  const size_t size = round_up(bytes, kPageBytes);
  std::lock_guard lock(mutex_);
  Entry* best = nullptr;
  for (auto& entry : entries_) {
    // A slot of more than twice the size is left to larger requests.
    const bool fits = !entry->in_use && entry->reusable && entry->slot.use_ == use && entry->slot.size_bytes_ >= size &&
                      entry->slot.size_bytes_ <= 2 * size && !entry->slot.is_kept() &&
                      (!keepable || entry->slot.keeping_ != nullptr);
    if (fits && (!best || entry->slot.size_bytes_ < best->slot.size_bytes_)) best = entry.get();
  }
  if (best) {
    best->in_use = true;
    best->slot.label_ = std::move(label);
    ++best->slot.times_acquired_;
    best->slot.part_bytes_ = 0;
    clear(best->slot);
    return best->slot;
  }
  if (use != SlotUse::device_local && groups_have_limits()) promised_.add(size, label);
  auto entry = std::make_unique<Entry>();
  if (keepable) {
    entry->slot.data_ = map(size, false, label).begin;
    entry->slot.keeping_ = std::make_shared<Slot::Keeping>();
    entry->slot.keeping_->mapping = mappings_.back();
  } else if ((use == SlotUse::activations || use == SlotUse::intermediates) && size >= kWorthHugePages) {
    entry->slot.data_ = from_arena(size, label);
  } else {
    const bool huge = use != SlotUse::device_local && size >= kHugePageBytes;
    entry->slot.data_ = map(size, huge, label).begin;
    if (huge) madvise(entry->slot.data_, size, MADV_HUGEPAGE);  // bytes behind the last whole one stay in small pages
  }
  entry->slot.size_bytes_ = size;
  entry->slot.id_ = next_slot_id();
  entry->slot.use_ = use;
  entry->slot.label_ = std::move(label);
  entries_.push_back(std::move(entry));
  return entries_.back()->slot;
}

void Pool::promise(size_t bytes, const std::string& what) {
  if (!groups_have_limits()) return;
  std::lock_guard lock(mutex_);
  promised_.add(bytes, what);
}

// Checks all parts first, then maps the file once, up to the end of the last part, and makes a slot for each part. The
// mapping is private, so writes to a slot never reach the file.
std::vector<Slot*> Pool::map_file(int file, std::span<const FilePart> parts, SlotUse use) {
  struct stat status {};
  if (fstat(file, &status) != 0)
    throw Error(std::string("cannot examine a file that is to be mapped (") + std::strerror(errno) + ")", "slots");
  const auto file_bytes = static_cast<uint64_t>(status.st_size);
  uint64_t end = 0;
  for (const FilePart& part : parts) {
    const bool whole = part.bytes > 0 && part.offset <= file_bytes && part.bytes <= file_bytes - part.offset;
    if (!whole || part.offset % kPageBytes != 0)
      throw Error("a slot's part of a file is not inside the file, or does not begin at a page", part.label);
    end = std::max(end, part.offset + part.bytes);
  }
  std::vector<Slot*> slots;
  if (parts.empty()) return slots;
  const size_t bytes = round_up(end, kPageBytes);
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
  if (base == MAP_FAILED)
    throw Error(std::string("cannot map a file (") + std::strerror(errno) + ")", std::to_string(bytes) + " bytes");
  std::lock_guard lock(mutex_);
  const auto mapping = std::make_shared<Mapping>();
  mapping->base = mapping->begin = static_cast<std::byte*>(base);
  mapping->mapped_bytes = mapping->bytes = mapping->used = bytes;
  mappings_.push_back(mapping);
  // These slots hold the file's bytes, so acquire() never gives them to another user.
  for (const FilePart& part : parts) {
    auto entry = std::make_unique<Entry>();
    entry->reusable = false;
    entry->slot.data_ = mapping->base + part.offset;
    entry->slot.size_bytes_ = round_up(part.bytes, kPageBytes);
    entry->slot.id_ = next_slot_id();
    entry->slot.use_ = use;
    entry->slot.label_ = part.label;
    slots.push_back(&entry->slot);
    entries_.push_back(std::move(entry));
  }
  return slots;
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

// If the system refuses, the memory only stays in use.
void Pool::discard(const Slot& slot) { discard(slot, 0, slot.size_bytes()); }

void Pool::discard(const Slot& slot, size_t offset, size_t bytes) {
  madvise(slot.data() + offset, bytes, MADV_DONTNEED);
}

// This is advice too: with huge pages a place would take more memory than its bytes.
void Pool::use_small_pages(const Slot& slot) { madvise(slot.data(), slot.size_bytes(), MADV_NOHUGEPAGE); }

// Slots that were released count too, since their memory stays mapped for reuse.
size_t Pool::mapped_bytes() const {
  std::lock_guard lock(mutex_);
  size_t sum = 0;
  for (const auto& entry : entries_) sum += entry->slot.size_bytes_;
  return sum;
}

}  // namespace tandem::sync
