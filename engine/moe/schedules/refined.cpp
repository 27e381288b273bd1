// The schedule `counts`, improved by exchanges. The lowest loads are not always best on the processor if the GPU's
// time depends on the load. One expert changes sides, or two change places, as long as the layer ends sooner; the
// best change is made first. With many experts nearly every sum is possible without exchanges, so those stay.
#include <utility>

#include "engine/moe/schedules/placement.h"
#include "engine/moe/schedules/schedule_rule.h"

namespace tandem::schedules {
namespace {

constexpr size_t kMostExchanged = 16;

// The best set that one change gives, or `set` itself.
std::pair<ProcessorSet, double> best_change(const LayerExperts& layer, ProcessorSet set, double makespan) {
  std::pair<ProcessorSet, double> best{set, makespan};
  const auto consider = [&](ProcessorSet changed) {
    const double end = makespan_of(layer, changed);
    if (end < best.second) best = {changed, end};
  };
  const auto bit = [](size_t i) { return ProcessorSet{1} << i; };
  for (size_t i = 0; i < layer.size(); ++i) {
    consider(set ^ bit(i));
    for (size_t j = 0; j < i; ++j)
      if (((set >> i ^ set >> j) & 1u) != 0) consider(set ^ bit(i) ^ bit(j));
  }
  return best;
}

// Exchanges only help if the GPU's time depends on the load. Each change shortens the layer, so the loop ends.
ExpertSchedule make_refined(const LayerExperts& layer) {
  ExpertSchedule counted = find_schedule_rule("counts")->make(layer);
  if (layer.costs().gpu_per_token == 0 || layer.size() > kMostExchanged) return counted;
  const ProcessorSet start = processor_set(layer, counted);
  ProcessorSet set = start;
  for (double makespan = makespan_of(layer, set);;) {
    const auto [changed, end] = best_change(layer, set, makespan);
    if (changed == set) break;
    set = changed;
    makespan = end;
  }
  return set == start ? counted : schedule_of(layer, set);
}

}  // namespace

extern const ScheduleRule refined;
const ScheduleRule refined{
    .name = "refined",
    .explains = "counts, then exchanges between both sides, for at most 16 experts",
    .make = make_refined,
};

}  // namespace tandem::schedules
