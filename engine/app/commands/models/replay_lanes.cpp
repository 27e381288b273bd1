// Shows what schedules would do with a layer of the trace: who computes which expert, and when. The trace gives loads
// and what a cache holds. The caller gives the costs, so the charts are modelled.
#include "engine/app/commands/models/replay_lanes.h"

#include <algorithm>
#include <cstdio>

#include "engine/moe/expert_cache.h"
#include "engine/moe/schedules/schedule_rule.h"
#include "engine/moe/trace_statistics.h"

namespace tandem::app {
namespace {

constexpr int64_t kChunkTokens = 256;

std::string with_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

const char* lane_name(ExpertLane lane) {
  return lane == ExpertLane::gpu ? "GPU" : lane == ExpertLane::cpu ? "processor" : "link";
}

// The experts in a cache when that token comes. Bounds and fixed sets see the whole trace, as in the replay.
std::vector<uint8_t> held_before(const LayerRequests& layer, int64_t token, const LaneSettings& settings) {
  const auto policy = settings.policy->make(settings.replay.policy, layer);
  ExpertCache cache(layer.experts, slots_for(layer.experts, settings.budget_percent), *policy,
                    settings.policy->insertion, settings.replay.policy.lookup);
  for (int64_t t = 0; t <= token; ++t) {
    const auto place = static_cast<size_t>(t);
    if (settings.replay.reset_each && t > 0 && layer.sequences[place] != layer.sequences[place - 1]) cache.begin();
    if (t < token) cache.ask(layer.at(t));
  }
  std::vector<uint8_t> held;
  for (int32_t e = 0; e < layer.experts; ++e) held.push_back(cache.has(e) ? 1 : 0);
  return held;
}

// The active experts of some tokens. Their places in `loads` are the ids of a schedule.
struct ActiveExperts {
  std::vector<int32_t> ids;
  std::vector<int64_t> loads;
  std::vector<int32_t> cached;  // places
};
// Counts the tokens from `from` on as one pass. Experts that the cache holds are named by their place in the list.
ActiveExperts active_in(const LayerRequests& layer, int64_t from, int64_t tokens, const std::vector<uint8_t>& held) {
  std::vector<int64_t> loads(static_cast<size_t>(layer.experts));
  for (int64_t t = from; t < from + tokens; ++t)
    for (const int32_t id : layer.at(t).ids) ++loads[static_cast<size_t>(id)];
  ActiveExperts active;
  for (int32_t e = 0; e < layer.experts; ++e) {
    const auto place = static_cast<size_t>(e);
    if (loads[place] == 0) continue;
    if (held[place]) active.cached.push_back(static_cast<int32_t>(active.ids.size()));
    active.ids.push_back(e);
    active.loads.push_back(loads[place]);
  }
  return active;
}

// Blocks are named by the expert's id in the model.
LaneTimeline timeline_of(const ScheduleRule& rule, const ExpertSchedule& schedule, const ActiveExperts& active) {
  LaneTimeline timeline{std::string(rule.name) + ": " + with_digits(schedule.makespan()), {}, 0, {}};
  for (const ExpertLane lane : kExpertLanes) timeline.lanes.emplace_back(lane_name(lane));
  for (const ExpertSpan& span : schedule.spans)
    timeline.tasks.push_back(
        {lane_name(span.lane), std::to_string(active.ids[static_cast<size_t>(span.expert)]), span.begin, span.end});
  return timeline;
}

// Says in a sentence which part of the trace the charts are about.
std::string words_of(const ActiveExperts& active, int64_t layer, int64_t first, int64_t tokens) {
  const auto [least, most] = std::ranges::minmax(active.loads);
  const std::string which = tokens == 1
                                ? "Token " + std::to_string(first)
                                : "Tokens " + std::to_string(first) + " to " + std::to_string(first + tokens - 1);
  return which + " of the trace in layer " + std::to_string(layer) + ": " + std::to_string(active.ids.size()) +
         " experts with " + (least == most ? "" : std::to_string(least) + " to ") + std::to_string(most) +
         (most == 1 ? " token" : " tokens") + " each. The GPU holds " + std::to_string(active.cached.size()) +
         " of them.";
}

// All charts have one scale of time, the longest schedule's, so lengths can be compared by eye.
ScheduledExperts scheduled(const ActiveExperts& active, const ExpertCosts& costs, std::string title,
                           std::string words) {
  const LayerExperts layer(active.loads, active.cached, costs);
  ScheduledExperts drawn{std::move(title), std::move(words), {}};
  double longest = 0;
  for (const ScheduleRule* rule : schedule_rules()) {
    if (rule->most_experts > 0 && layer.size() > rule->most_experts) continue;
    const ExpertSchedule schedule = rule->make(layer);
    longest = std::max(longest, schedule.makespan());
    drawn.charts.push_back(timeline_of(*rule, schedule, active));
  }
  for (LaneTimeline& chart : drawn.charts) chart.most = longest;
  drawn.words += " The engine's choice is " + std::string(best_schedule(layer).rule->name) + ".";
  return drawn;
}

}  // namespace

ExpertCosts costs_of_authors() {
  return {.cpu_fixed = 1.78, .cpu_per_token = 0.02918, .gpu_fixed = 0.452, .gpu_offset = 0.19, .transfer = 0.418};
}

// A layer and a token from the middle of the trace, where caches are warm. One token stands for text, and a chunk for
// a prompt.
std::vector<ScheduledExperts> schedule_charts(const ReplayTrace& trace, const LaneSettings& settings) {
  const size_t middle = trace.layers.size() / 2;
  const LayerRequests& layer = trace.layers[middle];
  if (layer.tokens() == 0) return {};
  const int64_t first = layer.tokens() / 2, chunk = std::min(kChunkTokens, layer.tokens() - first);
  const std::vector<uint8_t> held = held_before(layer, first, settings);
  std::vector<ScheduledExperts> drawn;
  for (const int64_t tokens : {int64_t{1}, chunk}) {
    const ActiveExperts active = active_in(layer, first, tokens, held);
    drawn.push_back(scheduled(active, settings.costs,
                              tokens == 1 ? "One token" : "A chunk of " + std::to_string(tokens) + " tokens",
                              words_of(active, trace.routing.trace.layers[middle], first, tokens)));
    if (chunk == 1) break;
  }
  return drawn;
}

}  // namespace tandem::app
