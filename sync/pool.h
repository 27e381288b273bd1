// The pool of shared buffers that every processor maps once (H7, H10).
//
// Contract
//   Ownership: the pool owns all memory; a Slot& stays valid, at the same address, until the pool is destroyed.
//     release() puts a slot back for reuse; its memory stays mapped, so a device that imported it stays correct.
//     Devices drop their imports before the pool dies (the pool outlives every device).
//   Memory: every slot starts on a 4096-byte boundary, its length is a multiple of 4096, and it starts zeroed.
//     Slots of 2 MiB and more ask for huge pages, but for device-local ones; activations of 512 KiB and more too, and
//     those lie side by side.
//   Threads: acquire() and release() may be called from any thread.
//   Files: map_file() makes slots over a file, which start with its bytes; what is written to them stays in this
//   process.
//   Failure: tandem::Error when the system has no memory left, or a control group has none for what will be written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "sync/memory_room.h"

namespace tandem::sync {

// What a slot holds; a device that cannot share memory decides from it what to copy, and when.
enum class SlotUse {
  weights,       // written by the host before the first launch, read-only afterwards
  activations,   // written and read by several devices; handed over by flags
  device_local,  // KV cache and scratch: only one device touches it within a plan
  flags,         // flag lines (sync/flag.h)
};

class Slot {
 public:
  std::byte* data() const { return data_; }
  size_t size_bytes() const { return size_bytes_; }
  uint64_t id() const { return id_; }                          // unique within the process, never reused
  uint64_t times_acquired() const { return times_acquired_; }  // 1, and more where it was released and is used again
  SlotUse use() const { return use_; }
  const std::string& label() const { return label_; }
  template <typename T>
  T* as(size_t offset_bytes = 0) const {
    return reinterpret_cast<T*>(data_ + offset_bytes);
  }

 private:
  friend class Pool;
  std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
  uint64_t id_ = 0, times_acquired_ = 1;
  SlotUse use_ = SlotUse::activations;
  std::string label_;
};

// A part of a file that becomes a slot: it begins at a multiple of 4096.
struct FilePart {
  uint64_t offset = 0;
  size_t bytes = 0;
  std::string label;
};

class Pool {
 public:
  Pool();
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // A slot of at least `bytes` (> 0). Prefers a released slot of the same use whose size is at most twice what is
  // asked.
  Slot& acquire(size_t bytes, SlotUse use, std::string label);
  void release(Slot& slot);
  // A slot for each part of an open file (a descriptor, which may be closed afterwards), mapped privately and at once.
  // They are not reused when they are released. Error where a part is not inside the file. The file must not shrink.
  std::vector<Slot*> map_file(int file, std::span<const FilePart> parts, SlotUse use);

  // So many bytes of device-local slots are about to be written. Error where a control group has no room for them.
  void promise(size_t bytes, const std::string& what);

  size_t mapped_bytes() const;  // all memory the pool holds, in use or waiting for reuse

 private:
  struct Entry;
  // Memory of the system for one slot, or for several side by side.
  struct Mapping {
    std::byte* base = nullptr;  // what mmap returned; the slots may start later, on a huge page boundary
    size_t mapped_bytes = 0;
    std::byte* begin = nullptr;  // of the slots
    size_t bytes = 0, used = 0;  // for slots
  };
  Mapping& map(size_t bytes, bool huge, const std::string& label);
  std::byte* from_arena(size_t size, const std::string& label);
  static void clear(Slot& slot);

  mutable std::mutex mutex_;
  std::deque<std::unique_ptr<Entry>> entries_;
  std::deque<Mapping> mappings_;
  Mapping* arena_ = nullptr;  // where large activations go; one of mappings_
  PromisedMemory promised_;   // slots that are written as a whole; caches fill by and by
};

}  // namespace tandem::sync
