// One opened device, with the objects that every part of the runtime needs.
//
// Contract: the handle owns the instance, the device and its queue, and outlives every object made with them. Error
// when the device cannot be opened.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/proof/precautions.h"
#include "engine/device/vulkan/cooperative_matrix.h"
#include "engine/device/vulkan/platform.h"
#include "engine/device/vulkan/synchronization.h"

namespace tandem::vulkan {

struct Limits {
  uint64_t max_buffer_range = 0;       // bytes that one binding reaches (maxStorageBufferRange)
  uint64_t offset_alignment = 1;       // alignment of a binding's start in its buffer
  uint64_t max_allocation = 0;         // bytes of one memory object
  uint64_t import_alignment = 0;       // alignment of host memory; 0: it cannot be imported
  uint32_t max_push_bytes = 128;       // bytes of push constants
  uint32_t max_invocations = 0;        // invocations of a work-group
  uint32_t max_shared_bytes = 0;       // shared memory of a work-group
  uint32_t max_groups[3] = {0, 0, 0};  // work-groups of a dispatch, for each dimension
  uint32_t timestamp_bits = 0;         // 0: no timestamps
  double timestamp_seconds = 0;        // length of one tick
};

// Threads: all calls are thread-safe.
class Handle {
 public:
  // older_calls: uses the calls of Vulkan 1.0, as on a device without VK_KHR_synchronization2. cores: cores for a CPU
  // driver's threads. Error if the driver is known to end processes.
  Handle(int index, const std::vector<int>& cores, Messages* messages, bool older_calls = false);
  ~Handle();  // waits until the device is idle
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  const std::string& id() const { return id_; }      // "vulkan:0", for errors
  const std::string& name() const { return name_; }  // as the driver says
  VkPhysicalDevice physical() const { return physical_; }
  VkDevice device() const { return device_; }
  const Synchronization& synchronization() const { return *synchronization_; }
  void submit(const Submission& submission, VkFence fence, const std::string& object);  // fence: may be VK_NULL_HANDLE
  uint32_t queue_family() const { return queue_family_; }
  bool cpu() const { return cpu_; }
  bool discrete() const { return discrete_; }  // a card with memory of its own, behind a bus
  const Limits& limits() const { return limits_; }
  bool has_integer_dot_product() const { return integer_dot_; }  // for bytes packed in words, as the driver says
  const std::optional<CooperativeUnits>& matrix_units() const { return matrix_units_; }  // as the driver says
  const Precautions& known() const { return known_; }  // the steps that its driver must be spared
  // The first memory type among the `allowed` bits that has all these properties. Error when there is none.
  uint32_t memory_type(uint32_t allowed, VkMemoryPropertyFlags properties) const;
  PFN_vkGetMemoryHostPointerPropertiesEXT host_pointer_properties() const { return host_pointer_properties_; }
  // A function that reads the device's clock and CLOCK_MONOTONIC at once; nullptr: the driver cannot.
  PFN_vkGetCalibratedTimestampsEXT calibrated_timestamps() const { return calibrated_timestamps_; }

 private:
  // Also with integer_dot_ and matrix_units_.
  void open(const std::vector<const char*>& extensions, bool synchronization2);

  std::string id_, name_;
  std::unique_ptr<Instance> instance_;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  std::unique_ptr<Synchronization> synchronization_;
  std::mutex queue_mutex_;  // Vulkan leaves locking the queue to the caller
  uint32_t queue_family_ = 0;
  bool cpu_ = false, discrete_ = false, integer_dot_ = false;
  std::optional<CooperativeUnits> matrix_units_;
  Limits limits_;
  Precautions known_;
  PFN_vkGetMemoryHostPointerPropertiesEXT host_pointer_properties_ = nullptr;
  PFN_vkGetCalibratedTimestampsEXT calibrated_timestamps_ = nullptr;
};

}  // namespace tandem::vulkan
