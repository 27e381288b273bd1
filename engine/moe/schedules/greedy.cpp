// Y2 as the paper has it: the timeline that is free first takes the next expert.
#include "engine/moe/schedules/greedy_run.h"
#include "engine/moe/schedules/schedule_rule.h"

namespace tandem::schedules {

extern const ScheduleRule greedy;
const ScheduleRule greedy{
    .name = "greedy",
    .explains = "HybriMoE's: the GPU, the processor or the link that is free first takes the next expert",
    .make = [](const LayerExperts& layer) { return greedy_run(layer, true); },
    .part_of_best = true,
};

}  // namespace tandem::schedules
