// The pool of shared buffers that every processor maps once (H7, H10).
//
// Contract
//   Ownership: the pool owns all memory. A Slot& stays valid, at the same address, until the pool is destroyed.
//   release() makes a slot available for reuse. Its memory stays mapped, so a device that imported it stays correct.
//   Slot::keep() shares the memory of a keepable slot: until the result is destroyed, acquire() gives the slot to
//   nobody else, and the memory stays mapped, also after the pool's end. Devices drop their imports before the pool is
//   destroyed (the pool outlives every device). Memory: every slot starts on a 4096-byte boundary, its length is a
//   multiple of 4096, and it starts zeroed. Slots of 2 MiB and more ask for huge pages, except device-local ones.
//   Activations of 512 KiB and more ask for them too, and lie side by side. Keepable slots have small pages. Threads:
//   any thread may call acquire(), release() and Slot::keep(), and may drop what keep() returned. Files: map_file()
//   makes slots over a file, which start with its bytes. Writes to these slots stay in this process. Failure:
//   tandem::Error when the system has no memory left, or when a control group has none for the promised bytes.
#pragma once

#include <atomic>
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

// The content of a slot. From it, a device that cannot share memory decides what to copy, and when.
enum class SlotUse {
  weights,        // written by the host before the first launch, read-only afterwards
  activations,    // written and read by several devices and the host; handed over by flags
  intermediates,  // activations that only operators of a pass touch, so a device may keep those of its own
  device_local,   // KV cache and scratch: only one device touches it within a plan
  flags,          // flag lines (sync/flag.h)
};

class Slot {
 public:
  std::byte* data() const { return data_; }
  size_t size_bytes() const { return size_bytes_; }
  uint64_t id() const { return id_; }                          // unique within the process, never reused
  uint64_t times_acquired() const { return times_acquired_; }  // 1; more when it was released and acquired again
  SlotUse use() const { return use_; }
  const std::string& label() const { return label_; }
  template <typename T>
  T* as(size_t offset_bytes = 0) const {
    return reinterpret_cast<T*>(data_ + offset_bytes);
  }
  std::shared_ptr<const void> keep() const;  // only of keepable slots

  // A divided slot changes part by part while other parts are read: experts in slots. Who has written bytes says so,
  // and a device with a copy of its own brings the parts up to date that have changed since. divide() comes before the
  // slot is shared; the others are for any thread.
  void divide(size_t part_bytes);
  bool is_divided() const { return part_bytes_ > 0; }
  size_t part_bytes() const { return part_bytes_; }
  size_t parts() const { return is_divided() ? (size_bytes_ + part_bytes_ - 1) / part_bytes_ : 0; }
  void changed(size_t offset, size_t bytes) const;  // nothing happens if the slot is not divided
  uint64_t changes(size_t part) const { return changes_[part].load(std::memory_order_acquire); }  // so far
  bool is_kept() const { return keeping_ && keeping_->count.load(std::memory_order_acquire) > 0; }

 private:
  friend class Pool;
  struct Keeping {
    std::shared_ptr<const void> mapping;
    std::atomic<int> count{0};  // results of keep() that live
  };
  std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
  uint64_t id_ = 0, times_acquired_ = 1;
  SlotUse use_ = SlotUse::activations;
  std::string label_;
  size_t part_bytes_ = 0;  // 0: the slot is not divided
  std::unique_ptr<std::atomic<uint64_t>[]> changes_;
  std::shared_ptr<Keeping> keeping_;  // null: the slot is not keepable
};

// A part of a file that becomes a slot. It begins at a multiple of 4096 bytes.
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

  // A slot of at least `bytes` (> 0). A released slot of the same use is reused if its size is at most twice the
  // rounded `bytes`. keepable: Slot::keep() may be called.
  Slot& acquire(size_t bytes, SlotUse use, std::string label, bool keepable = false);
  void release(Slot& slot);
  // Gives the slot's pages back to the system. The slot stays in use and reads as zeros. Not for slots of a file.
  static void discard(const Slot& slot);
  static void discard(const Slot& slot, size_t offset, size_t bytes);  // the same with whole pages of it
  // The slot gets no huge pages from now on, so that parts of it can be given back.
  static void use_small_pages(const Slot& slot);
  // Maps the file privately and at once, with a slot for each part. file: a descriptor, which may be closed afterwards.
  // Released slots of a file are not reused. Error when a part is not inside the file. The file must not shrink.
  std::vector<Slot*> map_file(int file, std::span<const FilePart> parts, SlotUse use);

  // Announces that `bytes` of device-local slots are about to be written. Error when a control group has no room
  // for them.
  void promise(size_t bytes, const std::string& what);

  size_t mapped_bytes() const;  // the bytes of all slots, in use or waiting for reuse

 private:
  struct Entry;
  // Memory from one call of mmap, for one slot or for several that lie side by side.
  struct Mapping {
    Mapping() = default;
    ~Mapping();
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    std::byte* base = nullptr;  // the result of mmap; the slots may start later, on a huge page boundary
    size_t mapped_bytes = 0;
    std::byte* begin = nullptr;  // where the slots begin
    size_t bytes = 0, used = 0;  // bytes: for slots; used: by slots of the arena so far
  };
  Mapping& map(size_t bytes, bool huge, const std::string& label);
  std::byte* from_arena(size_t size, const std::string& label);
  static void clear(Slot& slot);

  mutable std::mutex mutex_;
  std::deque<std::unique_ptr<Entry>> entries_;
  std::deque<std::shared_ptr<Mapping>> mappings_;  // shared with what Slot::keep() returned
  Mapping* arena_ = nullptr;                       // the mapping for large activations; one of mappings_
  PromisedMemory promised_;                        // for slots that are written as a whole; caches fill bit by bit
};

}  // namespace tandem::sync
