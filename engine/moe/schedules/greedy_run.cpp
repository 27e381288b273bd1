// An event simulation: the lane whose clock is least takes the next expert from its queue. Each step takes an expert or
// moves a clock forward, so the run ends.
#include "engine/moe/schedules/greedy_run.h"

#include <array>
#include <utility>

#include "engine/moe/schedules/schedule_lanes.h"

namespace tandem {
namespace {

class GreedyRun {
 public:
  GreedyRun(const LayerExperts& layer, bool may_move)
      : layer_(layer),
        lanes_(layer),
        cached_(layer.cached()),
        placed_(layer.size()),
        waiting_(layer.uncached().size()),
        may_move_(may_move) {
    moved_.reserve(waiting_);
  }

  ExpertSchedule run() && {
    while (waiting_ > 0 || gpu_has_work()) step();
    return std::move(lanes_).finish();
  }

 private:
  struct Moved {
    LayerExpert expert;
    double arrival;
  };

  bool gpu_has_work() const { return !cached_.empty() || next_moved_ < moved_.size(); }

  // The timeline with the least clock that can act does one thing. The sort keeps the order of equal clocks: GPU,
  // processor, link.
  void step() {
    std::array<ExpertLane, 3> order = kExpertLanes;
    const auto earlier = [&](size_t a, size_t b) { return lanes_.clock(order[a]) < lanes_.clock(order[b]); };
    for (const size_t at : {size_t{1}, size_t{2}, size_t{1}})
      if (earlier(at, at - 1)) std::swap(order[at], order[at - 1]);
    for (const ExpertLane lane : order)
      if (act(lane)) return;
  }

  bool act(ExpertLane lane) {
    if (lane == ExpertLane::gpu) return gpu_acts();
    return lane == ExpertLane::cpu ? cpu_acts() : link_acts();
  }

  // Moved experts arrive by falling load. So the first one that waits has the highest load among the arrived ones.
  bool gpu_acts() {
    if (!gpu_has_work()) return false;
    const Moved* next = next_moved_ < moved_.size() ? &moved_[next_moved_] : nullptr;
    const bool arrived = next != nullptr && next->arrival <= lanes_.clock(ExpertLane::gpu);
    if (!cached_.empty() && !(arrived && has_precedence(next->expert, cached_.front()))) {
      lanes_.compute_on_gpu(cached_.front());
      cached_ = cached_.subspan(1);
    } else if (arrived) {
      lanes_.compute_on_gpu(next->expert, next->arrival);
      ++next_moved_;
    } else {
      lanes_.wait_on_gpu(next->arrival);
    }
    return true;
  }

  // The processor takes missing experts by rising load. When none is left it helps with cached ones, as long as it ends
  // before the GPU would be through.
  bool cpu_acts() {
    if (waiting_ > 0) {
      lanes_.compute_on_cpu(taken(layer_.uncached_rising(), lowest_));
      return true;
    }
    if (cached_.empty() || !(lanes_.cpu_end_with(cached_.back()) < gpu_through())) return false;
    // The last cached expert has the lowest load. Among equal ones it has the highest id.
    lanes_.compute_on_cpu(cached_.back());
    cached_ = cached_.first(cached_.size() - 1);
    return true;
  }

  // The link brings the highest loads, because they gain most from the GPU.
  bool link_acts() {
    if (!may_move_ || waiting_ == 0) return false;
    const LayerExpert& expert = taken(layer_.uncached(), highest_);
    moved_.push_back({expert, lanes_.move(expert)});
    return true;
  }

  // The next expert of the list that nobody has taken.
  const LayerExpert& taken(std::span<const LayerExpert> list, size_t& at) {
    while (placed_[static_cast<size_t>(list[at].id)]) ++at;
    placed_[static_cast<size_t>(list[at].id)] = true;
    --waiting_;
    return list[at];
  }

  // When the GPU would be through its queue: by arrival, then falling load, then id.
  double gpu_through() const {
    double end = lanes_.clock(ExpertLane::gpu);
    for (const LayerExpert& expert : cached_) end += expert.gpu;
    for (size_t i = next_moved_; i < moved_.size(); ++i) end = std::max(end, moved_[i].arrival) + moved_[i].expert.gpu;
    return end;
  }

  const LayerExperts& layer_;
  ScheduleLanes lanes_;
  std::span<const LayerExpert> cached_;  // what the GPU's queue had at the beginning
  std::vector<Moved> moved_;
  size_t next_moved_ = 0;
  std::vector<char> placed_;  // by id: left the processor's queue
  size_t lowest_ = 0, highest_ = 0;
  size_t waiting_;  // experts in the processor's queue
  bool may_move_;
};

}  // namespace

ExpertSchedule greedy_run(const LayerExperts& layer, bool may_move) { return GreedyRun(layer, may_move).run(); }

}  // namespace tandem
