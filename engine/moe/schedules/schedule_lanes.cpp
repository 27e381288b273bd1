// Three clocks and the spans so far. Rules decide the order, and this class computes begins and ends.
#include "engine/moe/schedules/schedule_lanes.h"

#include <utility>

namespace tandem {

const char* to_string(ExpertLane lane) {
  constexpr std::array kNames{"gpu", "cpu", "link"};
  return kNames[static_cast<size_t>(lane)];
}

std::vector<int32_t> ExpertSchedule::on(ExpertLane lane) const {
  std::vector<int32_t> ids;
  for (const ExpertSpan& span : spans)
    if (span.lane == lane) ids.push_back(span.expert);
  return ids;
}

ScheduleLanes::ScheduleLanes(const LayerExperts& layer) : costs_(layer.costs()) {
  clocks_[static_cast<size_t>(ExpertLane::gpu)] = costs_.gpu_offset;
  clocks_[static_cast<size_t>(ExpertLane::link)] = costs_.link_offset;
  schedule_.spans.reserve(layer.size() + layer.uncached().size());
}

// The first expert on the processor costs more, since its threads must be woken.
double ScheduleLanes::cpu_end_with(const LayerExpert& expert) const {
  return clock(ExpertLane::cpu) + expert.cpu + (cpu_began_ ? 0 : costs_.cpu_first);
}

double ScheduleLanes::gpu_end_with(const LayerExpert& expert, double arrival) const {
  return std::max(clock(ExpertLane::gpu), arrival) + expert.gpu;
}

// The only function that moves a clock past work, so spans of one lane never overlap.
void ScheduleLanes::take(ExpertLane lane, const LayerExpert& expert, double begin, double end) {
  schedule_.spans.push_back({lane, expert.id, begin, end});
  clocks_[static_cast<size_t>(lane)] = end;
}

void ScheduleLanes::compute_on_cpu(const LayerExpert& expert) {
  take(ExpertLane::cpu, expert, clock(ExpertLane::cpu), cpu_end_with(expert));
  cpu_began_ = true;
}

double ScheduleLanes::move(const LayerExpert& expert) {
  take(ExpertLane::link, expert, clock(ExpertLane::link), arrival_of_next());
  return clock(ExpertLane::link);
}

void ScheduleLanes::compute_on_gpu(const LayerExpert& expert, double arrival) {
  take(ExpertLane::gpu, expert, std::max(clock(ExpertLane::gpu), arrival), gpu_end_with(expert, arrival));
}

void ScheduleLanes::wait_on_gpu(double until) {
  double& clock = clocks_[static_cast<size_t>(ExpertLane::gpu)];
  clock = std::max(clock, until);
}

// Moved experts arrive by falling load. So the first one that waits has the highest load among the arrived ones.
void ScheduleLanes::run_gpu(std::span<const LayerExpert> cached, std::span<const LayerExpert> moved) {
  const double begin = clock(ExpertLane::link);
  for (const LayerExpert& expert : moved) move(expert);
  double arrival = begin + costs_.transfer;
  while (!cached.empty() || !moved.empty()) {
    const bool arrived = !moved.empty() && arrival <= clock(ExpertLane::gpu);
    if (!cached.empty() && !(arrived && has_precedence(moved.front(), cached.front()))) {
      compute_on_gpu(cached.front());
      cached = cached.subspan(1);
    } else {
      compute_on_gpu(moved.front(), arrival);
      moved = moved.subspan(1);
      arrival += costs_.transfer;
    }
  }
}

ExpertSchedule ScheduleLanes::finish() && {
  schedule_.cpu_end = clock(ExpertLane::cpu);
  schedule_.gpu_end = clock(ExpertLane::gpu);
  return std::move(schedule_);
}

}  // namespace tandem
