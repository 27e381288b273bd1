// Any Vulkan 1.2 device as a Device: a real GPU, or lavapipe on CPU cores.
//
// Contract: engine/device/device.h. info() says what was proven at start: zero copy, fused fma, waiting policies.
//   Without zero copy, weights are uploaded before a program's first launch, and every launch copies the regions that
//   it reads and writes. Slots of SlotUse::device_local are never copied.
//   lavapipe ends all loops of an invocation after 65,535 iterations. supports() and prepare() refuse an operator that
//   would need more, and say so.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/device/device_factory.h"
#include "engine/device/proof/verdict.h"

namespace tandem {

DeviceCount vulkan_device_count();                 // none without a driver; never throws
std::vector<proof::Identity> vulkan_identities();  // the devices vulkan:0, vulkan:1, ...; never throws
std::string vulkan_listing_failure();       // why the drivers did not list their devices, for hints; "": they did
std::vector<KnownGpu> known_vulkan_gpus();  // as DeviceFactory::known
void configure_vulkan(const DeviceOptions& options);
std::unique_ptr<Device> open_vulkan_device(int index, const DeviceOptions& options);

}  // namespace tandem
