// Y7: on demand. Every expert that is not cached is moved, by falling load, and the processor computes nothing.
#include <utility>

#include "engine/moe/schedules/schedule_lanes.h"
#include "engine/moe/schedules/schedule_rule.h"

namespace tandem::schedules {
namespace {

ExpertSchedule make_on_demand(const LayerExperts& layer) {
  ScheduleLanes lanes(layer);
  lanes.run_gpu(layer.cached(), layer.uncached());
  return std::move(lanes).finish();
}

}  // namespace

extern const ScheduleRule gpu_only;
const ScheduleRule gpu_only{
    .name = "gpu-only",
    .explains = "every expert on the GPU, moved on demand by falling load",
    .make = make_on_demand,
    .part_of_best = true,
};

}  // namespace tandem::schedules
