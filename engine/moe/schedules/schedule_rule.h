// The schedules by name (Y2, Y7): pure functions from the active experts of a layer to three lanes.
//
// A schedule is one file of this folder. It defines a constant of type ScheduleRule with the file's name, and
// engine/moe/CMakeLists.txt lists that name.
#pragma once

#include <span>
#include <string_view>

#include "engine/moe/schedules/layer_experts.h"
#include "engine/moe/schedules/schedule.h"

namespace tandem {

struct ScheduleRule {
  const char* name;
  const char* explains;
  ExpertSchedule (*make)(const LayerExperts& layer);
  bool part_of_best = false;   // the schedule `best` tries it
  bool compared_only = false;  // a baseline that is never better than others: the default schedule does not try it
  size_t most_experts = 0;     // Error of make() beyond this number; 0: any number
};

std::span<const ScheduleRule* const> schedule_rules();          // in the order of the list
const ScheduleRule* find_schedule_rule(std::string_view name);  // nullptr: there is none
// The least makespan of all schedules that take any number of experts; of equals the first in the list. Y2's default.
struct BestSchedule {
  const ScheduleRule* rule = nullptr;
  ExpertSchedule schedule;
};
BestSchedule best_schedule(const LayerExperts& layer);

}  // namespace tandem
