// Y7: each expert is computed where it is, as kTransformers does on a miss.
#include <utility>

#include "engine/moe/schedules/schedule_lanes.h"
#include "engine/moe/schedules/schedule_rule.h"

namespace tandem::schedules {
namespace {

ExpertSchedule make_fixed(const LayerExperts& layer) {
  ScheduleLanes lanes(layer);
  lanes.run_gpu(layer.cached(), {});
  for (const LayerExpert& expert : layer.uncached_rising()) lanes.compute_on_cpu(expert);
  return std::move(lanes).finish();
}

}  // namespace

extern const ScheduleRule fixed;
const ScheduleRule fixed{
    .name = "fixed",
    .explains = "cached experts on the GPU, all others on the processor",
    .make = make_fixed,
    .part_of_best = true,
};

}  // namespace tandem::schedules
