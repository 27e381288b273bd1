// The best numbers of experts on either side. If the GPU's time does not depend on the load, it only matters how many
// experts move. For given numbers the processor then takes those with the lowest loads. All pairs of numbers are tried,
// by prefix sums: with a uncached and b cached experts on the processor, a + 1 times b + 1 sums are compared.
//
// Among equal makespans the pair with the fewest transfers counts, and then the one with the fewest cached experts on
// the processor.
#include <algorithm>
#include <utility>

#include "engine/moe/schedules/schedule_lanes.h"
#include "engine/moe/schedules/schedule_rule.h"

namespace tandem::schedules {
namespace {

struct MovedCosts {
  double work = 0;  // on the GPU
  double end = 0;   // if the GPU had nothing else
};

// [m]: the m uncached experts with the highest loads are moved, back to back.
std::vector<MovedCosts> moved_prefixes(const LayerExperts& layer) {
  std::vector<MovedCosts> costs(1);
  double arrival = layer.costs().link_offset;
  for (const LayerExpert& expert : layer.uncached()) {
    arrival += layer.costs().transfer;
    costs.push_back({costs.back().work + expert.gpu, std::max(costs.back().end, arrival) + expert.gpu});
  }
  return costs;
}

struct OnCpu {
  size_t uncached = 0, cached = 0;
};

// A machine that never idles while something has arrived ends at its work behind the offset, or at the end of the
// arrivals alone, whichever is later.
OnCpu best_counts(const LayerExperts& layer) {
  const std::span<const LayerExpert> rising = layer.uncached_rising(), cached = layer.cached();
  const ExpertCosts& costs = layer.costs();
  const std::vector<MovedCosts> moved = moved_prefixes(layer);
  std::vector<double> cached_cpu{0}, cached_gpu{costs.gpu_offset};
  for (const LayerExpert& expert : cached) cached_gpu.front() += expert.gpu;
  for (auto expert = cached.rbegin(); expert != cached.rend(); ++expert) {
    cached_cpu.push_back(cached_cpu.back() + expert->cpu);
    cached_gpu.push_back(cached_gpu.back() - expert->gpu);
  }
  double uncached_cpu = costs.cpu_first;
  for (const LayerExpert& expert : rising) uncached_cpu += expert.cpu;
  OnCpu best;
  double least = -1;
  for (size_t a = rising.size() + 1; a-- > 0;) {
    const MovedCosts& gpu = moved[rising.size() - a];
    for (size_t b = 0; b <= cached.size(); ++b) {
      const double cpu_end = a + b == 0 ? 0 : uncached_cpu + cached_cpu[b];
      const double end = std::max({cpu_end, gpu.end, gpu.work + cached_gpu[b]});
      if (least >= 0 && end >= least) continue;
      least = end;
      best = {a, b};
    }
    if (a > 0) uncached_cpu -= rising[a - 1].cpu;
  }
  return best;
}

// Builds the schedule of the best numbers: the lowest loads go to the processor, and all others to the GPU.
ExpertSchedule make_counts(const LayerExperts& layer) {
  const OnCpu on_cpu = best_counts(layer);
  const std::span<const LayerExpert> rising = layer.uncached_rising(), cached = layer.cached();
  ScheduleLanes lanes(layer);
  for (const LayerExpert& expert : rising.first(on_cpu.uncached)) lanes.compute_on_cpu(expert);
  for (size_t b = 0; b < on_cpu.cached; ++b) lanes.compute_on_cpu(cached[cached.size() - 1 - b]);
  std::vector<LayerExpert> moved(rising.begin() + static_cast<std::ptrdiff_t>(on_cpu.uncached), rising.end());
  std::ranges::sort(moved, has_precedence);
  lanes.run_gpu(cached.first(cached.size() - on_cpu.cached), moved);
  return std::move(lanes).finish();
}

}  // namespace

extern const ScheduleRule counts;
const ScheduleRule counts{
    .name = "counts",
    .explains = "the best numbers of experts on either side, the lowest loads on the processor",
    .make = make_counts,
};

}  // namespace tandem::schedules
