// Finds Vulkan devices, and sets what must be set before a driver starts.
//
// Contract: the functions may change the environment, so no other thread may use it meanwhile.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/proof/verdict.h"
#include "engine/device/vulkan/vk.h"

namespace tandem::vulkan {

// Receives warnings and errors of the validation layers (messages.h).
class Messages;

// The loader's instance. Ownership: devices that are opened through it are destroyed before it. Before the first
// instance a child process tries the drivers, if that was not done before (engine/device/proof/).
class Instance {
 public:
  // messages: switches the validation layers on, with their checks of synchronization, and receives their texts. Error
  // if they are not installed.
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

// Sets LP_NUM_THREADS if the user has not set it; lavapipe reads it when the driver starts. workers: number of threads
// (0: half of the cores). With one worker the queue's own thread computes, which saves a hand-over. Only the first call
// has an effect.
void configure_process(size_t workers);
int cpu_workers();  // number of threads of a CPU driver that compute, by LP_NUM_THREADS

// Devices that can be used (Vulkan 1.2, timeline semaphores, a compute queue), in the order that vulkan:N counts: real
// GPUs first, then CPUs. Empty without a driver.
std::vector<VkPhysicalDevice> find_devices(const Instance& instance);

// Describes each device in its driver's words, for the comparison with the devices that were tried in a child
// process (engine/device/proof/).
std::vector<proof::Identity> identities(const std::vector<VkPhysicalDevice>& found);

}  // namespace tandem::vulkan
