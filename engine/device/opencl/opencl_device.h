// Any OpenCL 1.2 device as a Device: PoCL on CPU cores, or a real GPU.
//
// Contract: engine/device/device.h. info() says what was proven at start: zero copy, fused fma, waiting policies.
//   Without zero copy, weights are uploaded before a program's first launch, and every launch copies the regions that
//   it reads and writes. Slots of SlotUse::device_local are never copied.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/device/device_factory.h"
#include "engine/device/proof/verdict.h"

namespace tandem {

DeviceCount opencl_device_count();                 // none without a driver; never throws
std::vector<proof::Identity> opencl_identities();  // the devices opencl:0, opencl:1, ...; never throws
std::string opencl_listing_failure();              // why a driver did not list its devices, for hints; "": all did
std::vector<KnownGpu> known_opencl_gpus();         // as DeviceFactory::known
void configure_opencl(const DeviceOptions& options);
std::unique_ptr<Device> open_opencl_device(int index, const DeviceOptions& options);

}  // namespace tandem
