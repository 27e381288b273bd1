// Flags: how one processor tells another that a step is done (H7).
//
// Contract
//   A flag is one 64-byte line in a pool slot, so a device can write it. Its epoch only rises and is never reset while
//   the flag is in use. Any epoch >= e satisfies a wait for epoch e, and a wait may begin before the signal.
//   Order: the signaller stores the epoch with release order after its data. The waiter loads the epoch with acquire
//   order before it reads the data. Kernels do the same with memory_scope_device (kernels/gate.cl names the pair).
//   Failure: a failure is a value. fail() stores the message on the host and then sets the line's failure word. Every
//   wait on the flag then throws. Only sync/ and the device kernels touch the atomics.
//   Threads: all calls are thread-safe. Ownership: a FlagBank owns its slot's lines; a Flag is a borrowed handle that
//   must not outlive its bank.
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

// Memory layout shared with kernels: 16 words of 32 bits. Word 0: epoch. Word 1: failure (0 = none, 2 = raised twice or
// by a wrong epoch, else failed). Word 2: arrivals; kernels of several work-groups use it to find the last one. Word 3:
// host threads asleep on the epoch. The rest is unused.
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
  // A release store that then wakes sleeping host threads. An epoch that is not above the last one fails the
  // flag instead: the signal was raised twice, or by the wrong step. Every wait on the flag then throws and
  // names both epochs.
  void raise(uint32_t epoch) const;
  void fail(const std::string& message) const;  // keeps the first failure; wakes sleeping host threads
  bool failed() const;                          // acquire load
  std::string failure() const;                  // "": the flag has not failed
  void clear_failure() const;                   // between runs, when no thread waits

  const std::string& name() const;
  const Slot& slot() const;     // for a device that imports the bank
  size_t offset_bytes() const;  // of this flag's line in the slot
  FlagLine& line() const;
  // Sleeps until the epoch reaches `epoch`, the flag fails, or about `duration` has passed. A kernel of a device cannot
  // wake the sleeper.
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

// A flag and the epoch that a launch waits for.
struct WaitFor {
  Flag flag;
  uint32_t epoch = 0;
};
// A flag and the epoch that a launch raises.
struct Signal {
  Flag flag;  // empty: nothing to raise
  uint32_t epoch = 0;
};

}  // namespace tandem::sync
