#include "engine/plan/prediction/pooled_ratios.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "engine/plan/prediction/operator_class.h"
#include "engine/plan/prediction/pass_class.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr double kShrink = 0.5;
// A ratio may differ from its estimate by this much of a logarithm for no reason. So much confirms no bonus.
constexpr double kNoise = 0.1;
// From this weight on kMaxMove limits how far one sample moves a level, for the broadest level too.
constexpr double kConfidentWeight = 3;
const double kMaxMove = std::log(1.5), kMaxFirstMove = std::log(2.5);

// The class and all levels above it, from the broadest.
template <typename Class>
std::vector<Class> levels_to(Class finest) {
  std::vector<Class> levels = {finest};
  while (finest.broaden()) levels.push_back(finest);
  std::ranges::reverse(levels);
  return levels;
}

// Whether `level` is `above` or lies below it.
template <typename Class>
bool is_below(Class level, const Class& above) {
  while (level != above)
    if (!level.broaden()) return false;
  return true;
}

// The estimate for a level: its own mean, drawn towards the estimate for the level above it.
template <typename Level>
double shrunk_towards(double above, const Level& level) {
  return above + (level.log_ratio - above) * level.weight / (level.weight + kShrink);
}

}  // namespace

template <typename Class>
double PooledRatios<Class>::log_of(std::span<const Class> levels) const {
  double log_ratio = 0;
  for (const Class& each : levels) {
    const auto level = levels_.find(each);
    if (level != levels_.end()) log_ratio = shrunk_towards(log_ratio, level->second);
  }
  return log_ratio;
}

// Goes down from the broadest level. A new level begins at the estimate of the levels above it. The sample
// then moves the level's mean by its weight, and the clamp bounds the effect of an outlier.
template <typename Class>
double PooledRatios<Class>::learn(const Class& finest, double ratio, double weight) {
  TANDEM_CHECK(ratio > 0 && weight > 0 && std::isfinite(ratio), "a ratio of times is positive");
  const std::vector<Class> levels = levels_to(finest);
  const double exploration_failed = settle(levels, std::log(ratio));
  double expected = 0;
  bool is_broadest = true;
  for (const Class& each : levels) {
    const auto [at, is_new] = levels_.try_emplace(each, Level{expected, 0});
    Level& level = at->second;
    double away = std::log(ratio) - level.log_ratio;
    const double most = level.weight >= kConfidentWeight ? kMaxMove : kMaxFirstMove;
    if (!std::exchange(is_broadest, false) || level.weight >= kConfidentWeight) away = std::clamp(away, -most, most);
    level.log_ratio += away * weight / (level.weight + weight);
    level.weight = std::min(kMemory, level.weight + weight);
    expected = shrunk_towards(expected, level);
  }
  return exploration_failed;
}

// The bonuses of the class and of all levels above it end with this sample. The confirmed part of a bonus goes into the
// means of all levels below its level.
template <typename Class>
double PooledRatios<Class>::settle(std::span<const Class> levels, double log_ratio) {
  double exploration_failed = 0;
  for (const Class& each : levels) {
    const auto bonus = bonuses_.find(each);
    if (bonus == bonuses_.end()) continue;
    const double confirmed = std::clamp(log_of(levels) - log_ratio - kNoise, 0.0, bonus->second);
    for (auto& [level, known] : levels_) {
      if (is_below(level, each)) known.log_ratio -= confirmed;
    }
    exploration_failed += bonus->second - confirmed;
    bonuses_.erase(bonus);
  }
  return exploration_failed;
}

// The estimate with all bonuses that apply, which make untried work look faster.
template <typename Class>
double PooledRatios<Class>::ratio(const Class& finest) const {
  const std::vector<Class> levels = levels_to(finest);
  double log_ratio = log_of(levels);
  for (const Class& each : levels) {
    const auto bonus = bonuses_.find(each);
    if (bonus != bonuses_.end()) log_ratio -= bonus->second;
  }
  return std::exp(log_ratio);
}

// A bonus grows step by step up to its limit, so an option that stays unused is tried in the end.
template <typename Class>
void PooledRatios<Class>::add_exploration_bonus(const Class& level, double by, double most) {
  if (most <= 0) return;
  double& bonus = bonuses_[level];
  bonus = std::min(most, bonus + by);
}

// A bonus ends if `other` has samples at its level or below it. The bonuses of `other` are copied.
template <typename Class>
double PooledRatios<Class>::overwrite_from(const PooledRatios& other) {
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

// The samples behind a level's mean; 0: none.
template <typename Class>
double PooledRatios<Class>::weight_of(const Class& level) const {
  const auto found = levels_.find(level);
  return found == levels_.end() ? 0 : found->second.weight;
}

template class PooledRatios<OperatorClass>;
template class PooledRatios<PassClass>;

}  // namespace tandem
