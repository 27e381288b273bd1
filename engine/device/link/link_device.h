// The link: a thread that copies experts from the host's memory to the GPU's, beside everything that computes.
//
// On devices that share the host's memory it copies within that memory, so that a card can be studied without one.
//
// Contract: as engine/device/thread_device.h. It runs ExpertMove and ExpertPrefetch alone. A copy into a landing takes
// at least its bytes over `gbps`, in real time (0: as fast as the memory is). A copy from a landing into slots stays in
// the GPU's memory, and is not slowed down.
#pragma once

#include <memory>

#include "engine/device/device_factory.h"

namespace tandem {

std::unique_ptr<Device> open_link(const DeviceOptions& options);

}  // namespace tandem
