// The optimum: every set of experts on the processor is tried. The first one with the least makespan counts.
#include <string>

#include "engine/moe/schedules/placement.h"
#include "engine/moe/schedules/schedule_rule.h"
#include "sync/error.h"

namespace tandem::schedules {
namespace {

constexpr size_t kMostExperts = 12;

// There are 2^n sets of n experts, so n has a bound. The tests compare fast schedules with this one.
ExpertSchedule make_optimum(const LayerExperts& layer) {
  if (layer.size() > kMostExperts)
    throw Error("the optimum is not searched for", std::to_string(layer.size()) + " experts",
                "All sets are tried, so give at most " + std::to_string(kMostExperts));
  ProcessorSet best = 0;
  double least = makespan_of(layer, best);
  for (ProcessorSet on_cpu = 1; on_cpu < ProcessorSet{1} << layer.size(); ++on_cpu) {
    const double makespan = makespan_of(layer, on_cpu);
    if (makespan >= least) continue;
    least = makespan;
    best = on_cpu;
  }
  return schedule_of(layer, best);
}

}  // namespace

extern const ScheduleRule optimum;
const ScheduleRule optimum{
    .name = "optimum",
    .explains = "every possibility is tried, for at most 12 experts",
    .make = make_optimum,
    .most_experts = kMostExperts,
};

}  // namespace tandem::schedules
