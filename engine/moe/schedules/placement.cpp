// Evaluates a set of experts for the processor. The makespan is computed without building a schedule, because searches
// ask for thousands of them.
#include "engine/moe/schedules/placement.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/moe/schedules/schedule_lanes.h"

namespace tandem {
namespace {

bool has(ProcessorSet on_cpu, size_t i) { return (on_cpu >> i & 1u) != 0; }

}  // namespace

// Cached experts come first on the GPU. Moved ones follow in the order of the link, each not before its arrival.
double makespan_of(const LayerExperts& layer, ProcessorSet on_cpu) {
  const ExpertCosts& costs = layer.costs();
  double cpu = on_cpu == 0 ? 0 : costs.cpu_first, gpu = costs.gpu_offset, arrival = costs.link_offset;
  size_t i = 0;
  for (const LayerExpert& expert : layer.cached()) {
    if (has(on_cpu, i++))
      cpu += expert.cpu;
    else
      gpu += expert.gpu;
  }
  for (const LayerExpert& expert : layer.uncached()) {
    if (has(on_cpu, i++)) {
      cpu += expert.cpu;
    } else {
      arrival += costs.transfer;
      gpu = std::max(gpu, arrival) + expert.gpu;
    }
  }
  return std::max(cpu, gpu);
}

ExpertSchedule schedule_of(const LayerExperts& layer, ProcessorSet on_cpu) {
  ScheduleLanes lanes(layer);
  std::vector<LayerExpert> cached, moved;
  size_t i = 0;
  const auto place = [&](std::span<const LayerExpert> experts, std::vector<LayerExpert>& on_gpu) {
    for (const LayerExpert& expert : experts) {
      if (has(on_cpu, i++))
        lanes.compute_on_cpu(expert);
      else
        on_gpu.push_back(expert);
    }
  };
  place(layer.cached(), cached);
  place(layer.uncached(), moved);
  lanes.run_gpu(cached, moved);
  return std::move(lanes).finish();
}

// The other direction: a schedule's set, from which a search can begin.
ProcessorSet processor_set(const LayerExperts& layer, const ExpertSchedule& schedule) {
  const std::vector<int32_t> on_cpu = schedule.on(ExpertLane::cpu);
  ProcessorSet set = 0;
  size_t i = 0;
  for (const auto& experts : {layer.cached(), layer.uncached()})
    for (const LayerExpert& expert : experts)
      set |= ProcessorSet{std::ranges::find(on_cpu, expert.id) != on_cpu.end()} << i++;
  return set;
}

}  // namespace tandem
