// The greedy schedule where no expert is moved. A transfer may end after the processor would have computed the expert.
#include "engine/moe/schedules/greedy_run.h"
#include "engine/moe/schedules/schedule_rule.h"

namespace tandem::schedules {

extern const ScheduleRule no_transfer;
const ScheduleRule no_transfer{
    .name = "no-transfer",
    .explains = "greedy without the link",
    .make = [](const LayerExperts& layer) { return greedy_run(layer, false); },
    .part_of_best = true,
};

}  // namespace tandem::schedules
