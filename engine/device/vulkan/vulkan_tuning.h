// What tests and benches may change or look at in a Vulkan device; nothing else includes this.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/vulkan/vulkan_device.h"

namespace tandem::vulkan {

struct Tuning {
  std::chrono::milliseconds wait_deadline{10000};  // bounds every wait for another device's flag
  bool validation = false;                         // switches the validation layers on; Error where there are none
};
std::unique_ptr<Device> open_device_tuned(int index, const DeviceOptions& options, const Tuning& tuning);

bool validation_layers_present();
// What the validation layers have said about the device since the last call, warnings and errors.
std::vector<std::string> take_validation_messages(Device& device);

}  // namespace tandem::vulkan
