// Learns how much longer operators take than a formula says, at several levels of detail at once. A ratio that was
// measured for one kind of operator says something about similar kinds, and less about less similar ones.
//
// A class (operator_class.h, pass_class.h) has levels above it, from the broadest: all operators, matmuls, matmuls of a
// format, and those of so many tokens. Each level keeps the mean of the logarithms of its ratios and the weight of its
// samples. A prediction begins at 1 and goes down the levels. Each level draws it towards its own mean, by w / (w +
// 1/2), where w is the level's weight (partial pooling: Gelman and Hill, Data Analysis Using Regression and Multilevel
// Models, 2007, chapter 12).
//
// Contract: a value; pure.
//   Memory: a level's weight is kMemory at most, so new ratios replace old ones. After kMemory more samples a third of
//   the old mean is left.
//   Outliers: a new level begins at the estimate of the level above it. A ratio counts as at most 2.5 times the level's
//   mean, and as at least its 2.5th part. After three samples the bound is 1.5. The first three samples of the broadest
//   level have no bound, because the formula's scale may be far off.
//   Exploration: an option that is never tried keeps its old estimate. So each level may have an exploration bonus: the
//   estimate is lower by that much. The first sample below the level settles the bonus. The part that the sample
//   confirms, beyond kNoise, goes into the means of the level and of all levels below it. The rest is dropped, and the
//   old estimate holds again.
#pragma once

#include <map>
#include <span>

namespace tandem {

// Class: a value with an order, whose broaden() makes it the class of the level above.
template <typename Class>
class PooledRatios {
 public:
  static constexpr double kMemory = 12;

  struct Level {
    double log_ratio = 0, weight = 0;  // the mean, and the weight of its samples
  };

  // ratio and weight: above 0. weight: 1 for a sample without contention. Returns the part of the settled bonuses that
  // the ratio did not confirm, as a logarithm.
  double learn(const Class& finest, double ratio, double weight = 1);
  double ratio(const Class& finest) const;  // 1: nothing is known
  // Raises the level's exploration bonus by `by`, up to `most` (logarithms). The level need not have samples.
  void add_exploration_bonus(const Class& level, double by, double most);
  // Replaces own levels by those that `other` has, with their bonuses. Returns the largest change of a level's mean.
  double overwrite_from(const PooledRatios& other);
  double weight_of(const Class& level) const;  // 0: it has no samples
  const std::map<Class, Level>& levels() const { return levels_; }
  const std::map<Class, double>& exploration_bonuses() const { return bonuses_; }  // logarithms, by level
  // For values that were read from disk.
  void set_level(const Class& level, Level mean) { levels_[level] = mean; }
  void set_exploration_bonus(const Class& level, double bonus) { bonuses_[level] = bonus; }

 private:
  double log_of(std::span<const Class> levels) const;
  double settle(std::span<const Class> levels, double log_ratio);

  std::map<Class, Level> levels_;
  std::map<Class, double> bonuses_;
};

}  // namespace tandem
