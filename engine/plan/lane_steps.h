// Y2, Y7: makes plans that divide the experts of each layer between a GPU, the host and the link.
//
//   route ── decide ─┬─ gate and up, unit, down of experts in slots (GPU) ───────────────────────┬─ sum
//                    ├─ copies, turn by turn (link) ── the same for each turn's experts (GPU) ────┤
//                    └─ the same for all other experts (host) ────────────────────────────────────┘
//
// Everything else runs on the GPU. A pass decides which expert goes where (ExpertDecide), so no plan depends on it. The
// sum adds a token's experts in the order of every other plan. Copies and products wait for each other like
// any other write and read of memory (engine/plan/schedule.h). The link may then copy a turn's experts from the landing
// into slots, behind the copies of the next layer. In between it may copy experts that the next layer is guessed to
// choose (ExpertPrefetch).
//
// If the host's memory holds some of the experts alone, passes may choose more than it can hold (may_divide()). Such
// passes fetch experts into the slots of the GPU instead, as in plans without lanes.
//
// Contract: pure functions. Error if experts are not copied, or if the GPU, the host or the link is not there.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/plan/plan_request.h"

namespace tandem {

// Names of engine/moe/schedules/ for prompts and for text; empty: the best one. keeps: text keeps copied experts.
// prefetches: the link copies experts ahead, if the pass guesses them.
struct LaneRules {
  std::string_view prompt_schedule = "";
  std::string_view text_schedule = "";
  bool keeps = false, prefetches = false;
  bool by_layers = false;  // plan_by_layers(): no layer is divided
  bool operator==(const LaneRules&) const = default;
};

Plan plan_with_lanes(const PlanRequest& request, const char* name, const LaneRules& rules);

// The first layers on the GPU and all others on the host, both with all of their experts. All slots together hold the
// experts of the GPU's layers. Error if the host's memory does not hold all experts.
Plan plan_by_layers(const PlanRequest& request, const char* name);
// Which layers it puts on the GPU. moving: by layer of the model.
std::vector<bool> layers_on_gpu(std::span<const MovingExperts> moving);

}  // namespace tandem
