// A profile as planners ask for it: what its processors can do, and what operators cost on them by the same functions
// that the model clock runs on. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/costs.h"
#include "engine/plan/model_clock/model_clock.h"
#include "engine/plan/model_clock/soc_profile.h"
#include "engine/plan/plan_request.h"

namespace tandem {

// As the paper runs them: passes of decode_tokens or fewer are decoding, where the GPU dominates.
Dominant dominant_in(const SocProfile& profile, int64_t tokens);

// For planners: device 0 is the profile's GPU, device 1 its NPU.
std::vector<DeviceTraits> traits_of(const SocProfile& profile);
PlanCosts costs_of(const SocProfile& profile, const ClockOptions& options, Dominant dominant);

}  // namespace tandem
