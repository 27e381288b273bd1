// The optimum: every set of experts on the processor is tried. Moving by falling load is best for a given set: what
// comes last on the GPU should take the least time there.
#include <algorithm>
#include <string>
#include <utility>

#include "engine/moe/schedules/schedule_lanes.h"
#include "engine/moe/schedules/schedule_rule.h"
#include "sync/error.h"

namespace tandem::schedules {
namespace {

constexpr size_t kMostExperts = 12;

// Bit i of `on_cpu` stands for the i-th of the cached experts, and then of the others.
bool is_on_cpu(uint32_t on_cpu, size_t i) { return (on_cpu >> i & 1u) != 0; }

double makespan_of(const LayerExperts& layer, uint32_t on_cpu) {
  const ExpertCosts& costs = layer.costs();
  double cpu = on_cpu == 0 ? 0 : costs.cpu_first, gpu = costs.gpu_offset, arrival = 0;
  size_t i = 0;
  for (const LayerExpert& expert : layer.cached()) {
    if (is_on_cpu(on_cpu, i++))
      cpu += expert.cpu;
    else
      gpu += expert.gpu;
  }
  for (const LayerExpert& expert : layer.uncached()) {
    if (is_on_cpu(on_cpu, i++)) {
      cpu += expert.cpu;
    } else {
      arrival += costs.transfer;
      gpu = std::max(gpu, arrival) + expert.gpu;
    }
  }
  return std::max(cpu, gpu);
}

ExpertSchedule schedule_of(const LayerExperts& layer, uint32_t on_cpu) {
  ScheduleLanes lanes(layer);
  std::vector<LayerExpert> cached, moved;
  size_t i = 0;
  const auto place = [&](std::span<const LayerExpert> experts, std::vector<LayerExpert>& gpu) {
    for (const LayerExpert& expert : experts) {
      if (is_on_cpu(on_cpu, i++))
        lanes.compute_on_cpu(expert);
      else
        gpu.push_back(expert);
    }
  };
  place(layer.cached(), cached);
  place(layer.uncached(), moved);
  lanes.run_gpu(cached, moved);
  return std::move(lanes).finish();
}

ExpertSchedule make_optimum(const LayerExperts& layer) {
  if (layer.size() > kMostExperts)
    throw Error("the optimum is not searched for", std::to_string(layer.size()) + " experts",
                "All sets are tried, so give at most " + std::to_string(kMostExperts));
  uint32_t best = 0;
  double least = makespan_of(layer, 0);
  for (uint32_t on_cpu = 1; on_cpu < (1u << layer.size()); ++on_cpu) {
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
