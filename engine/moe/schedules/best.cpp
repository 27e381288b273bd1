// The least makespan of the paper's schedule, its baselines and the authors' variant; of equals the first in the list.
// The greedy schedule may make things worse than not moving anything.
#include <utility>

#include "engine/moe/schedules/schedule_rule.h"

namespace tandem::schedules {
namespace {

ExpertSchedule make_best(const LayerExperts& layer) {
  ExpertSchedule best;
  bool found = false;
  for (const ScheduleRule* rule : schedule_rules()) {
    if (!rule->part_of_best) continue;
    ExpertSchedule schedule = rule->make(layer);
    if (!found || schedule.makespan() < best.makespan()) best = std::move(schedule);
    found = true;
  }
  return best;
}

}  // namespace

extern const ScheduleRule best;
const ScheduleRule best{
    .name = "best",
    .explains = "the least of greedy, no-transfer, fixed, gpu-only and two-ended",
    .make = make_best,
};

}  // namespace tandem::schedules
