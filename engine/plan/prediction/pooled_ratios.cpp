#include "engine/plan/prediction/pooled_ratios.h"

#include <algorithm>
#include <cmath>

#include "sync/error.h"

namespace tandem {
namespace {

constexpr double kShrink = 0.5;
// A ratio may differ from its estimate by this much of a logarithm for no reason. So much confirms no bonus.
constexpr double kNoise = 0.1;
// From this weight on kMaxMove limits how far one sample moves a level, for the broadest level too.
constexpr double kConfidentWeight = 3;
const double kMaxMove = std::log(1.5), kMaxFirstMove = std::log(2.5);

// The estimate for a level: its own mean, drawn towards the estimate for the level above it.
double shrunk_towards(double above, const PooledRatios::Level& level) {
  return above + (level.log_ratio - above) * level.weight / (level.weight + kShrink);
}

double log_of(const std::map<std::string, PooledRatios::Level>& levels, std::span<const std::string> path) {
  double log_ratio = 0;
  for (const std::string& name : path) {
    const auto level = levels.find(name);
    if (level != levels.end()) log_ratio = shrunk_towards(log_ratio, level->second);
  }
  return log_ratio;
}

// Whether `level` is `above` or lies below it. A level's name begins with the name of the level above it; this holds
// from the broadest level that can have a bonus.
bool is_below(const std::string& level, const std::string& above) {
  return level.starts_with(above) && (level.size() == above.size() || level[above.size()] == ' ');
}

}  // namespace

// Goes down the path from the broadest level. A new level begins at the estimate of the levels above it. The sample
// then moves the level's mean by its weight, and the clamp bounds the effect of an outlier.
double PooledRatios::learn(std::span<const std::string> path, double ratio, double weight) {
  TANDEM_CHECK(ratio > 0 && weight > 0 && std::isfinite(ratio), "a ratio of times is positive");
  const double exploration_failed = settle(path, std::log(ratio));
  double expected = 0;
  for (size_t i = 0; i < path.size(); ++i) {
    const auto [at, is_new] = levels_.try_emplace(path[i], Level{expected, 0});
    Level& level = at->second;
    double away = std::log(ratio) - level.log_ratio;
    const double most = level.weight >= kConfidentWeight ? kMaxMove : kMaxFirstMove;
    if (i > 0 || level.weight >= kConfidentWeight) away = std::clamp(away, -most, most);
    level.log_ratio += away * weight / (level.weight + weight);
    level.weight = std::min(kMemory, level.weight + weight);
    expected = shrunk_towards(expected, level);
  }
  return exploration_failed;
}

// Each bonus on the path ends with this sample. The confirmed part goes into the means of all levels below its level.
double PooledRatios::settle(std::span<const std::string> path, double log_ratio) {
  double exploration_failed = 0;
  for (const std::string& name : path) {
    const auto bonus = bonuses_.find(name);
    if (bonus == bonuses_.end()) continue;
    const double confirmed = std::clamp(log_of(levels_, path) - log_ratio - kNoise, 0.0, bonus->second);
    for (auto& [level, known] : levels_) {
      if (is_below(level, name)) known.log_ratio -= confirmed;
    }
    exploration_failed += bonus->second - confirmed;
    bonuses_.erase(bonus);
  }
  return exploration_failed;
}

double PooledRatios::ratio(std::span<const std::string> path) const {
  double log_ratio = log_of(levels_, path);
  for (const std::string& name : path) {
    const auto bonus = bonuses_.find(name);
    if (bonus != bonuses_.end()) log_ratio -= bonus->second;
  }
  return std::exp(log_ratio);
}

void PooledRatios::add_exploration_bonus(const std::string& level, double by, double most) {
  if (most <= 0) return;
  double& bonus = bonuses_[level];
  bonus = std::min(most, bonus + by);
}

// A bonus ends if `other` has samples at its level or below it. The bonuses of `other` are copied.
double PooledRatios::overwrite_from(const PooledRatios& other) {
  double moved = 0;
  for (const auto& [name, level] : other.levels_) {
    Level& own = levels_[name];
    moved = std::max(moved, std::abs(level.log_ratio - own.log_ratio));
    own = level;
  }
  std::erase_if(bonuses_, [&](const auto& bonus) {
    return std::ranges::any_of(other.levels_, [&](const auto& level) { return is_below(level.first, bonus.first); });
  });
  for (const auto& [name, bonus] : other.bonuses_) bonuses_[name] = bonus;
  return moved;
}

double PooledRatios::weight_of(const std::string& level) const {
  const auto found = levels_.find(level);
  return found == levels_.end() ? 0 : found->second.weight;
}

}  // namespace tandem
