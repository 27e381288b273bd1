// A regression tree (CART): predicts a value from a few numbers. Every node asks whether one of them is below a
// threshold. HeteroLLM predicts the NPU's times with such a tree (H8).
//
// Contract: fit() is deterministic, whatever the order of the samples. Between equally good splits it takes the lower
// feature, then the lower threshold. A leaf's value is the mean of its samples, so a prediction never leaves the range
// of the samples' values. Callers must divide out a value's unbounded part, such as the growth of time with the size.
//
// Source: Breiman, Friedman, Olshen, Stone: Classification and Regression Trees, 1984, chapter 8.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tandem {

struct TreeSample {
  std::vector<double> features;  // the same number in every sample
  double value = 0;
};

struct TreeLimits {
  int depth = 12;           // most questions from the root to a leaf
  size_t leaf_samples = 1;  // fewest samples in a leaf
};

class RegressionTree {
 public:
  struct Node {
    int feature = -1;      // -1: a leaf
    double threshold = 0;  // features below it go to `below`, others to `above`
    int below = -1, above = -1;
    double value = 0;  // mean of the samples that reached the node
  };

  // Error without samples, or if they have different numbers of features.
  static RegressionTree fit(std::span<const TreeSample> samples, const TreeLimits& limits = {});

  double predict(std::span<const double> features) const;
  const std::vector<Node>& nodes() const { return nodes_; }  // the root first

 private:
  int grow(std::span<const TreeSample*> samples, const TreeLimits& limits, int depth);
  std::vector<Node> nodes_;
};

// The best split of samples in two parts by one feature. It leaves the least sum of squared distances from the means of
// both parts. feature -1: no feature gives two parts of leaf_samples or more, or no split lowers the sum.
struct TreeSplit {
  int feature = -1;
  double threshold = 0;
  double squares_left = 0;  // after the split
};
TreeSplit best_split(std::span<const TreeSample* const> samples, size_t leaf_samples);

}  // namespace tandem
