// Flags: how one processor tells another that a step is done (H7).
//
// Rules
//   A flag is one 64-byte line in a pool slot, so that a device can write it. Its epoch only rises; waiting for epoch e
//   is satisfied by any epoch >= e, and a wait may begin before the signal. Epochs are never reset while a flag is in
//   use. The signaller stores the epoch with release order after its data; the waiter loads it with acquire order
//   before it reads the data. Kernels do the same with memory_scope_device (the pair is named in kernels/gate.cl). A
//   failure is a value: fail() stores the message host-side and then sets the line's failure word; every wait on the
//   flag then throws. Nobody but sync/ and the device kernels touches the atomics.
// Threads: all calls are thread-safe. Ownership: a FlagBank owns its slot's lines; Flag is a borrowed handle that must
// not outlive its bank.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sync/pool.h"

namespace tandem::sync {

// Memory layout shared with kernels: 16 32-bit words. Word 0: epoch, word 1: failure (0 = none, 2 = raised
// twice or by a wrong epoch, else failed), word 2: arrivals (used by kernels of several work-groups to find the last
// one), word 3: host threads asleep on the epoch, the rest unused.
struct alignas(64) FlagLine {
  std::atomic<uint32_t> epoch{0};
  std::atomic<uint32_t> failure{0};
  std::atomic<uint32_t> arrivals{0};
  std::atomic<uint32_t> sleepers{0};
  uint32_t unused[12] = {};
};
static_assert(sizeof(FlagLine) == 64);
static_assert(std::atomic<uint32_t>::is_always_lock_free);

class FlagBank;

class Flag {
 public:
  Flag() = default;
  uint32_t epoch() const;                                                                          // acquire load
  bool reached(uint32_t epoch) const { return static_cast<int32_t>(this->epoch() - epoch) >= 0; }  // wraps safely
  // Release store, then wakes blocked host waiters. An epoch that is not above the last one (a signal raised twice, or
  // by the wrong step) fails the flag instead: every wait on it throws, naming both epochs.
  void raise(uint32_t epoch) const;
  void fail(const std::string& message) const;  // first failure wins; wakes blocked host waiters
  bool failed() const;                          // acquire load
  std::string failure() const;                  // "" when not failed
  void clear_failure() const;                   // between runs, when nobody waits

  const std::string& name() const;
  const Slot& slot() const;     // for a device that imports the bank
  size_t offset_bytes() const;  // of this line in the slot
  FlagLine& line() const;
  // Sleeps until the epoch reaches `epoch`, the flag fails, or about that time has passed. A device's kernel
  // cannot wake a sleeper.
  void sleep_until(uint32_t epoch, std::chrono::microseconds duration) const;
  explicit operator bool() const { return bank_ != nullptr; }

 private:
  friend class FlagBank;
  Flag(FlagBank* bank, uint32_t index) : bank_(bank), index_(index) {}
  FlagBank* bank_ = nullptr;
  uint32_t index_ = 0;
};

class FlagBank {
 public:
  FlagBank(Pool& pool, uint32_t capacity, std::string label);
  ~FlagBank();
  FlagBank(const FlagBank&) = delete;
  FlagBank& operator=(const FlagBank&) = delete;

  Flag make(std::string name);  // Error when the bank is full

 private:
  friend class Flag;
  struct Entry {
    std::string name, failure;
  };
  Pool& pool_;
  Slot& slot_;
  uint32_t capacity_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

// What a launch waits for and what it raises.
struct WaitFor {
  Flag flag;
  uint32_t epoch = 0;
};
struct Signal {
  Flag flag;  // empty: nothing to raise
  uint32_t epoch = 0;
};

}  // namespace tandem::sync
