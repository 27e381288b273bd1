// Settings of a machine's devices and of plans that only tests and benches change.
#pragma once

#include <optional>

#include "engine/device/device_factory.h"

namespace tandem {

struct DeviceHooks {
  std::optional<KernelFamily> gpu_family;  // replaces the family that the device reports
  bool force_copies = false;               // true: no zero copy
};

struct PlanHooks {
  bool tries_plans = true;  // false: the plan `tensor` is what its solver says, and no other plan replaces it
  bool learns = true;       // false: passes are not measured
};

}  // namespace tandem
