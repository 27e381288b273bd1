// G2 to G4: near-memory units compute experts together, and the GPU takes so many that both end at once.
#include "engine/plan/near_memory_steps.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

constexpr NearMemoryRules kRules{UnitShape::together, true, true};

Plan make_gpu_ndp(const PlanRequest& request) { return plan_with_units(request, "gpu-ndp", kRules); }

}  // namespace

extern const Strategy gpu_ndp;
const Strategy gpu_ndp{
    .name = "gpu-ndp",
    .explains = "G1-G4: experts on near-memory units together, and as many on the GPU that both end at once",
    .make = make_gpu_ndp,
    .near_memory = &kRules,
    .auto_needs = {.experts = true},
};

}  // namespace tandem::plans
