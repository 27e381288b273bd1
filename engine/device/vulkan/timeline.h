// A semaphore that counts what a queue has ended.
//
// Contract: submissions count it upwards, one value each, told by will_reach(). It is destroyed when the host has seen
// it at the last of these values. A fence of the same submission does not say that: lavapipe's queue thread (Mesa 22.3)
// signals the fence and only then adds the value to the semaphore. Where that had been freed meanwhile, the value went
// to whatever had its memory next, the launcher's semaphore for one, whose first programs then counted as ended before
// they had run. Threads: reached() and wait() from any, the rest from one at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "engine/device/vulkan/handle.h"

namespace tandem::vulkan {

class Timeline {
 public:
  explicit Timeline(const Handle& handle);
  ~Timeline();  // waits as long as a driver may take for what has ended
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  VkSemaphore get() const { return semaphore_.get(); }
  void will_reach(uint64_t value) { last_ = value; }  // behind the submission that counts to it
  uint64_t last() const { return last_; }
  bool reached(uint64_t value, const std::string& object) const;
  void wait(uint64_t value, std::chrono::milliseconds deadline, const std::string& object) const;  // Error: it passed

 private:
  VkResult wait(uint64_t value, std::chrono::milliseconds deadline) const;

  const Handle& handle_;
  OwnedSemaphore semaphore_;
  uint64_t last_ = 0;
};

}  // namespace tandem::vulkan
