// Y2: how a schedule divides the experts that a layer's tokens chose, between GPU, host and link. Divisions of text are
// remembered, because a few tokens ask for the same ones again and again.
//
// Contract: divide() is a pure function. LaneDivisions belongs to one thread; a reference that it returns holds until
// the next call. Experts count from 0 on, in the order of their loads.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/moe/schedules/schedule_rule.h"

namespace tandem {

// Where an expert is computed. none: nobody chose it.
enum class ExpertPlace : uint8_t { none, slot, landed, host };

// The chosen experts of a layer. cached: which of them have slots, rising.
struct ActiveExperts {
  std::vector<int32_t> ids;
  std::vector<int64_t> loads;
  std::vector<int32_t> cached;
};

struct LaneDivision {
  std::vector<ExpertPlace> place;  // landed: the link brings it
  std::vector<int32_t> moved;      // in the order of the link
  double seconds = 0;              // as the schedule expects
};

// rule: nullptr: the schedule of least time. may_copy: false: such a schedule copies nothing.
LaneDivision divide(const ActiveExperts& active, const ExpertCosts& costs, const ScheduleRule* rule, bool may_copy);

// Which layers are on the GPU with all of their experts, if so many slots hold the first ones. experts: by layer.
std::vector<bool> layers_on_gpu(std::span<const int64_t> experts, int64_t slots);

class LaneDivisions {
 public:
  explicit LaneDivisions(const ExpertCosts& costs) : costs_(costs) {}

  const ExpertCosts& costs() const { return costs_; }
  void set_costs(const ExpertCosts& costs);  // other costs forget all divisions
  const LaneDivision& of(const ActiveExperts& active, const ScheduleRule* rule, bool may_copy);

 private:
  ExpertCosts costs_;
  std::map<const ScheduleRule*, std::unordered_map<uint64_t, LaneDivision>> of_single_tokens_;
  LaneDivision latest_;
};

}  // namespace tandem
