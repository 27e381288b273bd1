// A timeline semaphore that counts the submissions which a queue has ended.
//
// Contract: each submission counts it up to a value of its own, which will_reach() names. The destructor waits until
// the host has seen the last of these values.
//   The fence of the same submission is not enough. lavapipe's queue thread (Mesa 22.3) signals the fence first and
//   only then adds the value to the semaphore. If the semaphore had been freed meanwhile, the value went to the next
//   owner of its memory. Once this was the launcher's semaphore, whose first programs then counted as ended before they
//   had run.
//   Threads: reached() and wait() from any, the rest from one at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "engine/device/vulkan/handle.h"
#include "sync/clock.h"
#include "sync/deadline.h"

namespace tandem::vulkan {

// A time as Vulkan's waits take it.
inline uint64_t nanoseconds(std::chrono::milliseconds time) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

// Waits in slices, because time in which the process is stopped does not count. wait: a call of Vulkan that gets
// nanoseconds. VK_TIMEOUT: the deadline passed, or the driver gave up before its time.
template <typename Wait>
VkResult wait_in_slices(std::chrono::milliseconds deadline, const Wait& wait) {
  for (sync::Deadline end(deadline);;) {
    const std::chrono::milliseconds slice = end.slice();
    const auto begin = Clock::now();
    const VkResult code = wait(nanoseconds(slice));
    if (code != VK_TIMEOUT || Clock::now() - begin < slice / 2 || end.passed()) return code;
  }
}

class Timeline {
 public:
  explicit Timeline(const Handle& handle);
  ~Timeline();  // waits up to 20 s for the last value
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  VkSemaphore get() const { return semaphore_.get(); }
  void will_reach(uint64_t value) { last_ = value; }  // call it after the submission that counts to this value
  uint64_t last() const { return last_; }
  bool reached(uint64_t value, const std::string& object) const;
  void wait(uint64_t value, std::chrono::milliseconds deadline, const std::string& object) const;  // Error if it passes

 private:
  VkResult wait(uint64_t value, std::chrono::milliseconds deadline) const;

  const Handle& handle_;
  OwnedSemaphore semaphore_;
  uint64_t last_ = 0;
};

}  // namespace tandem::vulkan
