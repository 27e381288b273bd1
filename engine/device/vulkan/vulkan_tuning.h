// What tests and benches may change or look at in a Vulkan device; nothing else includes this.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/device/vulkan/messages.h"
#include "engine/device/vulkan/vulkan_device.h"

namespace tandem::vulkan {

struct Tuning {
  std::optional<std::string> cache_folder;  // of compiled pipelines; nothing: the user's, empty: none is kept
  std::optional<bool> own_weights;          // as on a card with memory of its own, or not
  bool older_calls = false;                 // submissions and barriers as on a device without VK_KHR_synchronization2
  // Switches the validation layers on, that of synchronization included, and takes what they say, warnings and errors,
  // until the device is closed; Error where they are not installed.
  Messages* messages = nullptr;
};
std::unique_ptr<Device> open_device_tuned(int index, const DeviceOptions& options, const Tuning& tuning);

bool validation_layers_present();  // tests run with them where they are installed (Tuning::messages)

}  // namespace tandem::vulkan
