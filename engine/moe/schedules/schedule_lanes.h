// Builds a schedule: three lanes with clocks, each of which takes one expert after another.
//
// Contract: a value. The caller takes each expert once; finish() gives the schedule.
#pragma once

#include "engine/moe/schedules/layer_experts.h"
#include "engine/moe/schedules/schedule.h"

namespace tandem {

class ScheduleLanes {
 public:
  explicit ScheduleLanes(const LayerExperts& layer);

  double clock(ExpertLane lane) const { return clocks_[static_cast<size_t>(lane)]; }
  // When the processor would end this expert, or the GPU one that arrives then, if it were the next one there.
  double cpu_end_with(const LayerExpert& expert) const;
  double gpu_end_with(const LayerExpert& expert, double arrival) const;
  double arrival_of_next() const { return clock(ExpertLane::link) + costs_.transfer; }

  void compute_on_cpu(const LayerExpert& expert);
  double move(const LayerExpert& expert);  // returns its arrival
  void compute_on_gpu(const LayerExpert& expert, double arrival = 0);
  void wait_on_gpu(double until);
  // Moves `moved` one after another. The GPU computes the highest load that has arrived, of equals the lower id.
  // Both lists stand by falling load.
  void run_gpu(std::span<const LayerExpert> cached, std::span<const LayerExpert> moved);

  ExpertSchedule finish() &&;

 private:
  void take(ExpertLane lane, const LayerExpert& expert, double begin, double end);

  const ExpertCosts& costs_;
  std::array<double, kExpertLanes.size()> clocks_{};
  bool cpu_began_ = false;
  ExpertSchedule schedule_;
};

}  // namespace tandem
