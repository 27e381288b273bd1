// What tests and benches may change about a machine's devices and about plans. Nothing else sets these.
#pragma once

#include <optional>

#include "engine/device/device_factory.h"

namespace tandem {

struct DeviceHooks {
  std::optional<KernelFamily> gpu_family;  // in the place of what the device reports
  bool force_copies = false;               // no zero copy
};

struct PlanHooks {
  bool tries_plans = true;  // false: the plan `tensor` is what its solver says
  bool learns = true;       // false: passes are not measured
};

}  // namespace tandem
