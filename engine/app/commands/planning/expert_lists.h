// Reads the lists of `tandem plan-experts`: loads, ids of cached experts, costs by name, names of schedules.
//
// Contract: pure functions of a flag's text. Error: the text is no such list; it names the element.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/moe/schedules/schedule_rule.h"

namespace tandem::app {

inline constexpr int64_t kMostListedExperts = 4096;

std::vector<int64_t> loads_in(const std::string& text);   // "4,3,5": tokens, 1 or more each
std::vector<int32_t> cached_in(const std::string& text);  // "0,1,4", each once, or "none"
ExpertCosts costs_in(const std::string& text);            // "cpu_fixed=1,transfer=3", each once; the others are 0
// "all": every schedule that takes any number of experts; or names.
std::vector<const ScheduleRule*> schedules_in(const std::string& text);
std::string names_of_schedules();
std::string names_of_costs();

}  // namespace tandem::app
