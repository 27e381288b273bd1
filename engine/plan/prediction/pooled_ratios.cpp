#include "engine/plan/prediction/pooled_ratios.h"

#include <algorithm>
#include <cmath>

#include "sync/error.h"

namespace tandem {
namespace {

constexpr double kShrink = 0.5;
// From here on a level is sure enough to doubt what is far from it.
constexpr double kSure = 3;
const double kLargestMove = std::log(1.5), kLargestFirstMove = std::log(2.5);

// What is expected of a level, from what is expected of the one above it.
double drawn(double above, const PooledRatios::Level& level) {
  return above + (level.log_ratio - above) * level.seen / (level.seen + kShrink);
}

}  // namespace

void PooledRatios::learn(std::span<const std::string> path, double ratio, double weight) {
  TANDEM_CHECK(ratio > 0 && weight > 0 && std::isfinite(ratio), "a ratio of times is positive");
  double expected = 0;
  for (size_t i = 0; i < path.size(); ++i) {
    const auto [at, is_new] = levels_.try_emplace(path[i], Level{expected, 0});
    Level& level = at->second;
    double away = std::log(ratio) - level.log_ratio;
    const double most = level.seen >= kSure ? kLargestMove : kLargestFirstMove;
    if (i > 0 || level.seen >= kSure) away = std::clamp(away, -most, most);
    level.log_ratio += away * weight / (level.seen + weight);
    level.seen = std::min(kMemory, level.seen + weight);
    expected = drawn(expected, level);
  }
}

double PooledRatios::ratio(std::span<const std::string> path) const {
  double log_ratio = 0;
  for (const std::string& name : path) {
    const auto level = levels_.find(name);
    if (level == levels_.end()) continue;
    log_ratio = drawn(log_ratio, level->second);
  }
  return std::exp(log_ratio);
}

void PooledRatios::hope(const std::function<bool(const std::string& level)>& which, double by, double least) {
  for (auto& [name, level] : levels_) {
    if (level.log_ratio > least && which(name)) level.log_ratio = std::max(least, level.log_ratio - by);
  }
}

double PooledRatios::take(const PooledRatios& other) {
  double moved = 0;
  for (const auto& [name, level] : other.levels_) {
    Level& own = levels_[name];
    moved = std::max(moved, std::abs(level.log_ratio - own.log_ratio));
    own = level;
  }
  return moved;
}

double PooledRatios::seen(const std::string& level) const {
  const auto found = levels_.find(level);
  return found == levels_.end() ? 0 : found->second.seen;
}

}  // namespace tandem
