#include "engine/moe/schedules/schedule_rule.h"

#include <utility>

namespace tandem {

const ScheduleRule* find_schedule_rule(std::string_view name) {
  for (const ScheduleRule* rule : schedule_rules())
    if (name == rule->name) return rule;
  return nullptr;
}

// Runs every schedule that is fast for any number of experts, and keeps the least makespan.
BestSchedule best_schedule(const LayerExperts& layer) {
  BestSchedule best;
  for (const ScheduleRule* rule : schedule_rules()) {
    if (rule->most_experts > 0 || rule->compared_only || std::string_view(rule->name) == "best") continue;
    ExpertSchedule schedule = rule->make(layer);
    if (best.rule == nullptr || schedule.makespan() < best.schedule.makespan()) best = {rule, std::move(schedule)};
  }
  return best;
}

}  // namespace tandem
