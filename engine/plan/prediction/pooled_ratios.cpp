#include "engine/plan/prediction/pooled_ratios.h"

#include <algorithm>
#include <cmath>

#include "sync/error.h"

namespace tandem {
namespace {

constexpr double kShrink = 0.5;
// By so much of a logarithm a ratio may differ from what is expected for no reason: that bears nothing out.
constexpr double kForNoReason = 0.1;
// From here on a level is sure enough to doubt what is far from it.
constexpr double kSure = 3;
const double kLargestMove = std::log(1.5), kLargestFirstMove = std::log(2.5);

// What is expected of a level, from what is expected of the one above it.
double drawn(double above, const PooledRatios::Level& level) {
  return above + (level.log_ratio - above) * level.seen / (level.seen + kShrink);
}

double log_of(const std::map<std::string, PooledRatios::Level>& levels, std::span<const std::string> path) {
  double log_ratio = 0;
  for (const std::string& name : path) {
    const auto level = levels.find(name);
    if (level != levels.end()) log_ratio = drawn(log_ratio, level->second);
  }
  return log_ratio;
}

// Whether a level's path has `above` in it, or is it: names of levels begin with the name of the one above them, from
// the first that a hope is about.
bool is_of(const std::string& level, const std::string& above) {
  return level.starts_with(above) && (level.size() == above.size() || level[above.size()] == ' ');
}

}  // namespace

double PooledRatios::learn(std::span<const std::string> path, double ratio, double weight) {
  TANDEM_CHECK(ratio > 0 && weight > 0 && std::isfinite(ratio), "a ratio of times is positive");
  const double in_vain = settle(path, std::log(ratio));
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
  return in_vain;
}

double PooledRatios::settle(std::span<const std::string> path, double log_ratio) {
  double in_vain = 0;
  for (const std::string& name : path) {
    const auto hope = hopes_.find(name);
    if (hope == hopes_.end()) continue;
    const double confirmed = std::clamp(log_of(levels_, path) - log_ratio - kForNoReason, 0.0, hope->second);
    for (auto& [level, known] : levels_) {
      if (is_of(level, name)) known.log_ratio -= confirmed;
    }
    in_vain += hope->second - confirmed;
    hopes_.erase(hope);
  }
  return in_vain;
}

double PooledRatios::ratio(std::span<const std::string> path) const {
  double log_ratio = log_of(levels_, path);
  for (const std::string& name : path) {
    const auto hope = hopes_.find(name);
    if (hope != hopes_.end()) log_ratio -= hope->second;
  }
  return std::exp(log_ratio);
}

void PooledRatios::hope(const std::string& level, double by, double most) {
  if (most <= 0) return;
  double& hoped = hopes_[level];
  hoped = std::min(most, hoped + by);
}

double PooledRatios::take(const PooledRatios& other) {
  double moved = 0;
  for (const auto& [name, level] : other.levels_) {
    Level& own = levels_[name];
    moved = std::max(moved, std::abs(level.log_ratio - own.log_ratio));
    own = level;
  }
  std::erase_if(hopes_, [&](const auto& hope) {
    return std::ranges::any_of(other.levels_, [&](const auto& level) { return is_of(level.first, hope.first); });
  });
  for (const auto& [name, hoped] : other.hopes_) hopes_[name] = hoped;
  return moved;
}

double PooledRatios::seen(const std::string& level) const {
  const auto found = levels_.find(level);
  return found == levels_.end() ? 0 : found->second.seen;
}

}  // namespace tandem
