// Finding Vulkan devices, and what must be set before a driver starts.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/proof/verdict.h"
#include "engine/device/vulkan/vk.h"

namespace tandem::vulkan {

// Messages of the validation layers, warnings and errors only.
class Messages;

// The loader's instance. Ownership: devices opened through it are destroyed before it. Before the first one the drivers
// are tried in a child process, where that was not done before (engine/device/proof/).
class Instance {
 public:
  // messages: switches the validation layers on, that of synchronization included, and receives what they say; Error
  // where they are not installed.
  explicit Instance(Messages* messages);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  VkInstance get() const { return instance_; }

 private:
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
};
bool validation_layers_present();

// lavapipe reads the number of its threads when the driver starts. Sets, where the user has not, LP_NUM_THREADS:
// workers (0: half of the cores), where one means that the queue's own thread computes, which saves a hand-over.
void configure_process(size_t workers);
int cpu_workers();  // how many threads of a CPU driver compute, by LP_NUM_THREADS

// Devices that can be used (Vulkan 1.2, timeline semaphores, a compute queue), in the order that vulkan:N counts: real
// GPUs first, then CPUs. Empty without a driver.
std::vector<VkPhysicalDevice> find_devices(const Instance& instance);

// How devices are told apart from those that were tried in a child process (engine/device/proof/).
std::vector<proof::Identity> identities(const std::vector<VkPhysicalDevice>& found);

}  // namespace tandem::vulkan
