// Kernel families by the names that tests use in their own names.
#pragma once

#include <optional>
#include <string_view>

#include "engine/device/device_info.h"

namespace tandem::testing {

// "simd" and "simt" name a family. Other names leave the choice to the device.
inline std::optional<KernelFamily> family_named(std::string_view name) {
  if (name == "simd") return KernelFamily::simd;
  if (name == "simt") return KernelFamily::simt;
  return std::nullopt;
}

}  // namespace tandem::testing
