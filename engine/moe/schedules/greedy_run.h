// The simulation of HybriMoE's greedy schedule, with and without the link (Y2).
//
// Contract: a pure function. Source: HybriMoE (arXiv:2504.05897), section IV.B; the ties and the bound on what the
// processor takes from the GPU are ours.
#pragma once

#include "engine/moe/schedules/layer_experts.h"
#include "engine/moe/schedules/schedule.h"

namespace tandem {

ExpertSchedule greedy_run(const LayerExperts& layer, bool may_move);

}  // namespace tandem
