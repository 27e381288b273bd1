// Asks a schedule which experts the GPU, the host and the link should have. Texts ask for the same divisions again and
// again, so those of single tokens are remembered.
#include "engine/moe/lane_division.h"

#include <algorithm>
#include <optional>

namespace tandem {
namespace {

// So many experts with one choice each have remembered divisions: a mask of those with slots tells them apart.
constexpr size_t kMostRemembered = 12;

// Costs with a transfer that is longer than everything on the host. With such a transfer no schedule of least time
// copies anything, so schedules need no rule of their own for that.
ExpertCosts without_link(const ExpertCosts& costs, const ActiveExperts& active) {
  ExpertCosts alone = costs;
  double all_on_host = costs.cpu_first + costs.gpu_offset;
  for (const int64_t load : active.loads) {
    const auto tokens = static_cast<double>(load);
    all_on_host += costs.cpu_fixed + costs.cpu_per_token * tokens + costs.gpu_fixed + costs.gpu_per_token * tokens;
  }
  alone.transfer = 1 + 2 * all_on_host;
  return alone;
}

// A single token has one choice at each of its experts. Then only their number and the cached ones matter, and both fit
// one word.
std::optional<uint64_t> key_of(const ActiveExperts& active, bool may_copy) {
  if (active.ids.size() > kMostRemembered) return std::nullopt;
  if (std::ranges::any_of(active.loads, [](int64_t load) { return load != 1; })) return std::nullopt;
  uint64_t mask = 0;
  for (const int32_t cached : active.cached) mask |= uint64_t{1} << cached;
  return mask << 16 | active.ids.size() << 1 | static_cast<uint64_t>(may_copy);
}

}  // namespace

// Runs the named schedule, or the one that ends first, and reads from it who computes what.
LaneDivision divide(const ActiveExperts& active, const ExpertCosts& costs, const ScheduleRule* rule, bool may_copy) {
  const bool is_open = rule == nullptr;
  const LayerExperts layer(active.loads, active.cached, is_open && !may_copy ? without_link(costs, active) : costs);
  const ExpertSchedule schedule = is_open ? best_schedule(layer).schedule : rule->make(layer);
  LaneDivision division;
  division.place.assign(active.ids.size(), ExpertPlace::host);
  division.moved = schedule.on(ExpertLane::link);
  division.seconds = schedule.makespan();
  for (const int32_t i : schedule.on(ExpertLane::gpu)) division.place[static_cast<size_t>(i)] = ExpertPlace::slot;
  for (const int32_t i : division.moved) division.place[static_cast<size_t>(i)] = ExpertPlace::landed;
  return division;
}

// Slots go to the first layers until they do not suffice for all experts of a layer.
std::vector<bool> layers_on_gpu(std::span<const int64_t> experts, int64_t slots) {
  std::vector<bool> on_gpu;
  for (const int64_t count : experts) {
    on_gpu.push_back(slots >= count);
    slots -= count;
  }
  return on_gpu;
}

// Divisions depend on the costs, so all that were remembered are wrong now.
void LaneDivisions::set_costs(const ExpertCosts& costs) {
  if (costs == costs_) return;
  costs_ = costs;
  of_single_tokens_.clear();
}

const LaneDivision& LaneDivisions::of(const ActiveExperts& active, const ScheduleRule* rule, bool may_copy) {
  const std::optional<uint64_t> key = key_of(active, may_copy);
  if (!key) return latest_ = divide(active, costs_, rule, may_copy);
  const auto [found, is_new] = of_single_tokens_[rule].try_emplace(*key);
  if (is_new) found->second = divide(active, costs_, rule, may_copy);
  return found->second;
}

}  // namespace tandem
