// Measures when programs ran, by the queue's timestamps, on the steady clock.
//
// Contract: a program that is to be measured takes a place. The place's commands are submitted around the
// program's, and read() gives its times once it has ended. A queue without timestamps has no places, and the host
// measures the times.
//   Threads: calibrate() by any thread, with the queue idle. The rest by the submitting thread.
// Source: VK_EXT_calibrated_timestamps if the driver has it; otherwise a timestamp between two looks at the
// host's clock.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/device/vulkan/commands.h"

namespace tandem::vulkan {

class Stamps {
 public:
  struct Times {
    double start_seconds = 0, end_seconds = 0;  // steady clock
  };
  struct Place {
    VkCommandBuffer before = VK_NULL_HANDLE, after = VK_NULL_HANDLE;
    uint32_t index = 0;
  };

  explicit Stamps(Handle& handle) : handle_(handle) {}
  void calibrate();
  std::optional<Place> take();  // nothing: there are no timestamps, or every place is in use
  std::optional<Times> read(const Place& place);
  void give_back(const Place& place) { free_.push_back(place.index); }

 private:
  void record_places();
  uint64_t stamp_now();
  double seconds_of(uint64_t ticks) const;

  Handle& handle_;
  OwnedQueryPool queries_;  // two for each place, and one for calibration
  OwnedCommandPool pool_;
  std::vector<VkCommandBuffer> before_, after_;
  std::vector<uint32_t> free_;
  std::mutex mutex_;  // guards what follows
  bool calibrated_ = false;
  uint64_t ticks_ = 0;  // the device's clock when the host's showed seconds_
  double seconds_ = 0;
};

}  // namespace tandem::vulkan
