// Y7: Fiddler's rule. Each missing expert goes where it ends sooner by itself: moved and computed on the GPU, or
// computed on the processor. Experts know nothing of each other.
#include <utility>
#include <vector>

#include "engine/moe/schedules/schedule_lanes.h"
#include "engine/moe/schedules/schedule_rule.h"

namespace tandem::schedules {
namespace {

ExpertSchedule make_fiddler(const LayerExperts& layer) {
  ScheduleLanes lanes(layer);
  std::vector<LayerExpert> moved;
  for (const LayerExpert& expert : layer.uncached()) {
    if (layer.costs().transfer + expert.gpu < expert.cpu)
      moved.push_back(expert);
    else
      lanes.compute_on_cpu(expert);
  }
  lanes.run_gpu(layer.cached(), moved);
  return std::move(lanes).finish();
}

}  // namespace

extern const ScheduleRule fiddler;
const ScheduleRule fiddler{
    .name = "fiddler",
    .explains = "each missing expert where it ends sooner by itself",
    .make = make_fiddler,
    .compared_only = true,
};

}  // namespace tandem::schedules
