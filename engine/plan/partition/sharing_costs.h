// What is asked when an operator may be shared by two devices that see one memory. Seconds are what the caller measured
// or modelled.
#pragma once

#include <functional>

#include "engine/device/operator.h"

namespace tandem {

struct SharingCosts {
  std::function<double(bool second, const Operator& op)> seconds;
  double sync_seconds = 0;  // of one wait for the other device
};

}  // namespace tandem
