// A device's properties and proofs as JSON: an entry of `tandem devices --json`.
//
// Contract: pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/device/device_info.h"

namespace tandem {

const char* name_of(DeviceKind kind);      // "gpu", "npu", "near-memory unit", "host"
const char* name_of(KernelFamily family);  // "simd", "simt", "none"
nlohmann::json to_json(const DeviceInfo& info);

}  // namespace tandem
