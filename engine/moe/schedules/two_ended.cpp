// The variant of the authors' program: one list, cached experts by falling load and then the others by falling load.
// The GPU, with the transfers that it needs, takes from the front, and the processor from the back. Whichever would end
// first takes the next expert; of equal ends the GPU.
#include <utility>

#include "engine/moe/schedules/schedule_lanes.h"
#include "engine/moe/schedules/schedule_rule.h"

namespace tandem::schedules {
namespace {

ExpertSchedule make_two_ended(const LayerExperts& layer) {
  const std::span<const LayerExpert> cached = layer.cached(), uncached = layer.uncached();
  const auto listed = [&](size_t at) -> const LayerExpert& {
    return at < cached.size() ? cached[at] : uncached[at - cached.size()];
  };
  ScheduleLanes lanes(layer);
  for (size_t front = 0, back = layer.size(); front < back;) {
    const bool moves = front >= cached.size();
    const double gpu_end = lanes.gpu_end_with(listed(front), moves ? lanes.arrival_of_next() : 0);
    if (gpu_end <= lanes.cpu_end_with(listed(back - 1))) {
      const double arrival = moves ? lanes.move(listed(front)) : 0;
      lanes.compute_on_gpu(listed(front++), arrival);
    } else {
      lanes.compute_on_cpu(listed(--back));
    }
  }
  return std::move(lanes).finish();
}

}  // namespace

extern const ScheduleRule two_ended;
const ScheduleRule two_ended{
    .name = "two-ended",
    .explains = "one list: the GPU takes from the busy end, the processor from the other, whichever ends first",
    .make = make_two_ended,
    .part_of_best = true,
};

}  // namespace tandem::schedules
