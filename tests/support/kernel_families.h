// Kernel families by the names that tests have in their own.
#pragma once

#include <optional>
#include <string_view>

#include "engine/device/device_info.h"

namespace tandem::testing {

// "simd", "simt"; anything else: what the device reports.
inline std::optional<KernelFamily> family_named(std::string_view name) {
  if (name == "simd") return KernelFamily::simd;
  if (name == "simt") return KernelFamily::simt;
  return std::nullopt;
}

}  // namespace tandem::testing
