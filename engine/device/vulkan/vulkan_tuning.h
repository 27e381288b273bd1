// Switches and facts of a Vulkan device for tests and benches. No other code includes this.
//
// Contract: open_device_tuned() is open_vulkan_device() with switches. Threads: the device's.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/device/gpu/lower.h"
#include "engine/device/vulkan/messages.h"
#include "engine/device/vulkan/vulkan_device.h"

namespace tandem::vulkan {

struct Tuning {
  std::optional<std::string> cache_folder;       // folder of compiled pipelines; nothing: the user's; "": none is kept
  std::optional<bool> own_weights;               // weights are copied as on a card with memory of its own, or not
  std::optional<gpu::MatrixUnits> matrix_units;  // in place of those that the device proves
  bool older_calls = false;                      // uses the calls of Vulkan 1.0
  // Switches the validation layers on, with their checks of synchronization, and receives their warnings and errors
  // until the device is closed. Error if they are not installed.
  Messages* messages = nullptr;
};
std::unique_ptr<Device> open_device_tuned(int index, const DeviceOptions& options, const Tuning& tuning);

bool validation_layers_present();  // tests use them if they are installed (Tuning::messages)

}  // namespace tandem::vulkan
