// What waiting costs a decode step: the waits that its plan has, times what a policy was measured to save.
//
// Contract: pure. A wait counts for the device that waits: a step that waits for another device's step, and the host's
// wait for the last step of each device (counted for that device). A policy saves, per wait, the difference of its
// median overhead of an empty step (the shortest measured) to that of "blocking" on that device.
#pragma once

#include <string>

#include "engine/lab/results.h"
#include "engine/plan/plan.h"

namespace tandem::sync_lab {

DecodeMeaning decode_meaning(const std::string& model, const Plan& plan, const LabResult& result);

}  // namespace tandem::sync_lab
