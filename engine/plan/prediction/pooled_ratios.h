// How much longer things take than a formula says, learnt at several levels of detail at once: a ratio that was seen
// for one kind of thing says something about all that are like it, the less the less they are alike.
//
// A thing is named by a path, from the broadest to the finest: {"opencl", "matmul", "matmul i4", "matmul i4 S64"}. Each
// level keeps the mean of the logarithms of its ratios and how much it has seen. A prediction begins at 1 and goes down
// the path; each level draws it towards its own mean, by w / (w + 1/2) where w is what the level has seen (partial
// pooling: Gelman and Hill, Data Analysis Using Regression and Multilevel Models, 2007, chapter 12).
//
// Contract: a value; pure. What a level has seen counts kMemory at most, so that newer ratios replace older ones: after
// that many, a third of the old is left. A single hiccup is no catastrophe: a level begins at what is expected of it,
// and one ratio counts as two and a half times that at most, as one and a half times once the level has seen three. But
// the broadest level believes its first ones whatever they are: the formula's scale may be far off.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tandem {

class PooledRatios {
 public:
  static constexpr double kMemory = 12;

  struct Level {
    double log_ratio = 0, seen = 0;
  };

  // ratio and weight: above 0. weight: 1 for what can be trusted.
  void learn(std::span<const std::string> path, double ratio, double weight = 1);
  double ratio(std::span<const std::string> path) const;  // 1: nothing is known
  // Of every level that `which` takes: expects it to take less long than was seen, by this much of the logarithm, but
  // not below `least`. What is never tried any more would else be remembered for ever as it was.
  void hope(const std::function<bool(const std::string& level)>& which, double by, double least);
  // Takes over every level of the other, and says by how much of a logarithm one moved at most.
  double take(const PooledRatios& other);
  double seen(const std::string& level) const;                                 // 0: never
  const std::map<std::string, Level>& levels() const { return levels_; }       // by the path's texts
  void put(const std::string& level, Level known) { levels_[level] = known; }  // as it was read from disk

 private:
  std::map<std::string, Level> levels_;
};

}  // namespace tandem
