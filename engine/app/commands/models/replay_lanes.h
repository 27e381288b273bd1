// The schedules of recorded routing, drawn to time: what GPU, processor and link do for one token, and for a chunk
// (Y2, Y7).
//
// Contract: pure. The layer is the middle one, and the token is the one in the middle of the trace. A cache that saw
// all tokens before it says what the GPU holds. Times are computed from costs, so they are modelled.
#pragma once

#include <string>
#include <vector>

#include "engine/app/commands/models/replay_charts.h"
#include "engine/app/commands/models/replay_moe.h"
#include "engine/moe/schedules/layer_experts.h"

namespace tandem::app {

// The costs of an expert of DeepSeek-V2-Lite in milliseconds, which the authors' program has: a processor with 10
// cores, an RTX A6000 and PCIe 3.0.
ExpertCosts costs_of_authors();

struct LaneSettings {
  const PolicyKind* policy = nullptr;  // of the cache
  double budget_percent = 25;
  ReplaySettings replay;
  ExpertCosts costs;
};

// The lanes of all schedules for the same experts. Charts end with the longest makespan, so that they compare.
struct ScheduledExperts {
  std::string title, words;  // words: which experts, and which schedule is best
  std::vector<LaneTimeline> charts;
};
// One token, and then a chunk of up to 256 tokens that begins with it. Empty for a trace without tokens.
std::vector<ScheduledExperts> schedule_charts(const ReplayTrace& trace, const LaneSettings& settings);

}  // namespace tandem::app
