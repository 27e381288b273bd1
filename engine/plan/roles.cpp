#include "engine/plan/roles.h"

#include <algorithm>

namespace tandem {

DeviceRole role_of(const DeviceTraits& device) {
  if (device.near_memory.is_there()) return DeviceRole::unit;
  if (device.static_graphs) return DeviceRole::graphs;
  return device.cuts_rows ? DeviceRole::general : DeviceRole::helper;
}

int first_with(std::span<const DeviceTraits> devices, DeviceRole role) {
  const auto found = std::ranges::find(devices, role, role_of);
  return found == devices.end() ? -1 : static_cast<int>(found - devices.begin());
}

}  // namespace tandem
