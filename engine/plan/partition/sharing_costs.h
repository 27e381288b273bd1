// Costs for sharing an operator between two devices that see one memory. Seconds come from the caller, either estimated
// for this machine or modelled.
#pragma once

#include <functional>

#include "engine/device/operator.h"

namespace tandem {

// second: the time on the second device, else on the first one.
struct SharingCosts {
  std::function<double(bool second, const Operator& op)> seconds;
  double sync_seconds = 0;  // cost of one wait for the other device
};

}  // namespace tandem
