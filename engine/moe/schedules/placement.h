// A set of experts for the processor: its makespan and its schedule. All other experts run on the GPU.
//
// Contract: pure functions, for at most 32 experts. Bit i stands for the i-th of the cached experts by falling load,
// and then of the others. Experts are moved by falling load: what comes last on the GPU then takes the least time
// there, so no other order of transfers is better.
#pragma once

#include <cstdint>

#include "engine/moe/schedules/layer_experts.h"
#include "engine/moe/schedules/schedule.h"

namespace tandem {

using ProcessorSet = uint32_t;
inline constexpr size_t kMostPlaced = 32;

double makespan_of(const LayerExperts& layer, ProcessorSet on_cpu);
ExpertSchedule schedule_of(const LayerExperts& layer, ProcessorSet on_cpu);
// The set of a schedule of that layer.
ProcessorSet processor_set(const LayerExperts& layer, const ExpertSchedule& schedule);

}  // namespace tandem
