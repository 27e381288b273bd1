// The roles that plans give to devices. A role follows from what a device can do, never from its kind.
//
// Contract: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "engine/device/device_traits.h"

namespace tandem {

enum class DeviceRole : uint8_t {
  general,  // takes rows of cut matmuls, and any number of tokens, like a GPU
  graphs,   // takes rows of cut matmuls, in graphs of fixed numbers of tokens, like an NPU
  unit,     // computes experts that lie in its own memory, and takes no rows of other matmuls
  helper,   // runs what other devices refuse, and takes rows only if there is no general device, like the host
};

DeviceRole role_of(const DeviceTraits& device);
int first_with(std::span<const DeviceTraits> devices, DeviceRole role);  // its index; -1: there is none

}  // namespace tandem
