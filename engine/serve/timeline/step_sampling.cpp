#include "engine/serve/timeline/step_sampling.h"

#include <algorithm>

namespace tandem::serve {
namespace {

constexpr double kTimesTheCost = 100, kLeastCost = 0.02;
constexpr double kSoonestSeconds = 0.2, kLatestSeconds = 5;
constexpr size_t kMostSizes = 256;  // numbers of tokens that are remembered

}  // namespace

// Learns the usual time of a pass from those that were not recorded. The map has a bound, because batches may have any
// number of tokens.
void StepSampling::add(int64_t tokens, double seconds, bool was_recorded, double end_seconds) {
  if (!was_recorded) {
    if (usual_seconds_.size() >= kMostSizes && !usual_seconds_.contains(tokens)) usual_seconds_.clear();
    usual_seconds_[tokens] = seconds;
    return;
  }
  const auto usual = usual_seconds_.find(tokens);
  const double longer = usual == usual_seconds_.end() ? 0 : seconds - usual->second;
  const double cost = std::max(longer, kLeastCost * seconds);
  next_seconds_ = end_seconds + std::clamp(kTimesTheCost * cost, kSoonestSeconds, kLatestSeconds);
}

}  // namespace tandem::serve
