// Computes what waiting costs a decode step: the waits of its plan, times the measured saving of a policy per wait.
//
// Contract: pure. A wait counts for the device that waits. Waits are a step that waits for another device's step, and
// the host's wait for the last step of each device (counted for that device). A policy's saving per wait is the median
// overhead of "blocking" less its own, on the same device, for an empty step (the shortest measured).
#pragma once

#include <string>

#include "engine/lab/results.h"
#include "engine/plan/plan.h"

namespace tandem::sync_lab {

DecodeMeaning decode_meaning(const std::string& model, const Plan& plan, const LabResult& result);

}  // namespace tandem::sync_lab
