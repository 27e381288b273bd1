// Y2: experts on the GPU, on the host and over the link, so that a layer ends soonest; copied experts are kept by a
// policy (Y4).
#include "engine/plan/lane_steps.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

constexpr LaneRules kBestLanes{.keeps = true, .prefetches = true};

Plan make_hybrimoe(const PlanRequest& request) { return plan_with_lanes(request, "hybrimoe", kBestLanes); }

}  // namespace

extern const Strategy hybrimoe;
const Strategy hybrimoe{
    .name = "hybrimoe",
    .explains = "Y2: each layer's experts on the GPU, on the host and over the link, by measured costs",
    .make = make_hybrimoe,
    .lanes = &kBestLanes,
    .among_lanes = true,
    .chooses_link = true,
    .prefetches = true,
    .auto_needs = {.experts = true},
};

}  // namespace tandem::plans
