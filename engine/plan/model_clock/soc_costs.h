// A profile in the form that planners ask for: traits of its processors, and costs of operators on them. The costs come
// from the functions that the model clock itself uses.
//
// Contract: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/costs.h"
#include "engine/plan/model_clock/model_clock.h"
#include "engine/plan/model_clock/soc_profile.h"
#include "engine/plan/plan_request.h"

namespace tandem {

// The dominant device as in the paper: the GPU in passes of up to npu.decode_tokens tokens (decoding), else the NPU.
Dominant dominant_in(const SocProfile& profile, int64_t tokens);

// Device 0 is the profile's GPU, device 1 its NPU.
std::vector<DeviceTraits> traits_of(const SocProfile& profile);
PlanCosts costs_of(const SocProfile& profile, const ClockOptions& options, Dominant dominant);

}  // namespace tandem
