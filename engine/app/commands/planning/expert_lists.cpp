// Reads the lists of `plan-experts`. A refusal shows the part of the list that is wrong and what would be right.
#include "engine/app/commands/planning/expert_lists.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "engine/app/parameters.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

constexpr double kMostCost = 1e15;
constexpr WholeRange kLoadRange{1, int64_t{1} << 31}, kExpertRange{0, kMostListedExperts - 1};

struct NamedCost {
  const char* name;
  double ExpertCosts::*field;
};
constexpr NamedCost kNamedCosts[] = {
    {"cpu_fixed", &ExpertCosts::cpu_fixed},         {"cpu_per_token", &ExpertCosts::cpu_per_token},
    {"cpu_first", &ExpertCosts::cpu_first},         {"gpu_fixed", &ExpertCosts::gpu_fixed},
    {"gpu_per_token", &ExpertCosts::gpu_per_token}, {"gpu_offset", &ExpertCosts::gpu_offset},
    {"link_offset", &ExpertCosts::link_offset},     {"transfer", &ExpertCosts::transfer},
};

[[noreturn]] void refuse(const std::string& element, const std::string& hint) {
  throw Error("the list cannot be read", "'" + element.substr(0, 80) + "'", hint);
}

// The texts between the commas; a list has at least one.
std::vector<std::string> elements_of(const std::string& text) {
  std::vector<std::string> elements;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    elements.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (std::ssize(elements) > kMostListedExperts)
    refuse(text, "at most " + std::to_string(kMostListedExperts) + " elements");
  return elements;
}

const NamedCost& cost_named(const std::string& name, const std::string& element) {
  const auto* const found = std::ranges::find_if(kNamedCosts, [&](const NamedCost& cost) { return name == cost.name; });
  if (found == std::end(kNamedCosts)) refuse(element, "costs are " + names_of_costs());
  return *found;
}

}  // namespace

// An expert's place in the list is its id, so an error can name the expert.
std::vector<int64_t> loads_in(const std::string& text) {
  std::vector<int64_t> loads;
  for (const std::string& element : elements_of(text)) {
    const std::optional<int64_t> load = read_whole(element, kLoadRange);
    if (!load) refuse(element, "the load of expert " + std::to_string(loads.size()) + " is " + to_string(kLoadRange));
    loads.push_back(*load);
  }
  return loads;
}

// The word "none" says that nothing is cached, since an empty list cannot be typed.
std::vector<int32_t> cached_in(const std::string& text) {
  std::vector<int32_t> ids;
  if (text == "none") return ids;
  std::set<int64_t> seen;
  for (const std::string& element : elements_of(text)) {
    const std::optional<int64_t> id = read_whole(element, kExpertRange);
    if (!id) refuse(element, "ids of experts, whole numbers from 0 on, or none");
    if (!seen.insert(*id).second) refuse(element, "expert " + element + " is cached twice");
    ids.push_back(static_cast<int32_t>(*id));
  }
  return ids;
}

// Costs have names, because eight numbers in a row would be mixed up. Those that are not given are 0.
ExpertCosts costs_in(const std::string& text) {
  ExpertCosts costs;
  std::set<std::string> seen;
  for (const std::string& element : elements_of(text)) {
    const size_t sign = element.find('=');
    if (sign == element.npos) refuse(element, "costs are written NAME=NUMBER; names are " + names_of_costs());
    const std::string name = element.substr(0, sign);
    const std::optional<double> cost = read_number(element.substr(sign + 1), 0, kMostCost);
    const NamedCost& known = cost_named(name, element);
    if (!cost) refuse(element, "a cost is a number from 0 to 1e15");
    if (!seen.insert(name).second) refuse(element, "a cost is given once");
    costs.*known.field = *cost;
  }
  return costs;
}

// "all" leaves out searches that only take few experts.
std::vector<const ScheduleRule*> schedules_in(const std::string& text) {
  std::vector<const ScheduleRule*> rules;
  if (text == "all") {
    for (const ScheduleRule* rule : schedule_rules())
      if (rule->most_experts == 0) rules.push_back(rule);
    return rules;
  }
  for (const std::string& element : elements_of(text)) {
    const ScheduleRule* rule = find_schedule_rule(element);
    if (rule == nullptr) refuse(element, "schedules are all, " + names_of_schedules());
    if (std::ranges::find(rules, rule) != rules.end()) refuse(element, "a schedule is named once");
    rules.push_back(rule);
  }
  return rules;
}

std::string names_of_schedules() {
  std::string names;
  for (const ScheduleRule* rule : schedule_rules()) names += (names.empty() ? "" : ", ") + std::string(rule->name);
  return names;
}

std::string names_of_costs() {
  std::string names;
  for (const NamedCost& cost : kNamedCosts) names += (names.empty() ? "" : ", ") + std::string(cost.name);
  return names;
}

}  // namespace tandem::app
