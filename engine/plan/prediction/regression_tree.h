// A regression tree (CART): a value predicted from a few numbers by asking, at every node, whether one of them is below
// a threshold. A part of H8: HeteroLLM predicts the NPU's times with one.
//
// Contract: fit() is deterministic: of equally good splits the one with the lower feature, then the lower threshold, is
// taken, and the order of the samples does not matter. A leaf's value is the mean of its samples, so a prediction never
// leaves the range of what was learnt: what grows without bound (time with the size) has to be divided out beforehand.
//
// Source: Breiman, Friedman, Olshen, Stone: Classification and Regression Trees, 1984, chapter 8.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tandem {

struct TreeSample {
  std::vector<double> features;  // as many in every sample
  double value = 0;
};

struct TreeLimits {
  int depth = 12;           // questions from the root to a leaf, at most
  size_t leaf_samples = 1;  // fewest of a leaf
};

class RegressionTree {
 public:
  struct Node {
    int feature = -1;      // -1: a leaf
    double threshold = 0;  // features below it go to `below`, others to `above`
    int below = -1, above = -1;
    double value = 0;  // mean of the samples that came here
  };

  // Error without samples, or when they have different numbers of features.
  static RegressionTree fit(std::span<const TreeSample> samples, const TreeLimits& limits = {});

  double predict(std::span<const double> features) const;
  const std::vector<Node>& nodes() const { return nodes_; }  // the root first

 private:
  int grow(std::span<const TreeSample*> samples, const TreeLimits& limits, int depth);
  std::vector<Node> nodes_;
};

// Of splits of samples in two by one feature, the one that leaves the least sum of squared distances from the means of
// both parts. feature -1: none has parts of at least leaf_samples that differ in the feature, or none leaves less than
// there is.
struct TreeSplit {
  int feature = -1;
  double threshold = 0;
  double squares_left = 0;  // after the split
};
TreeSplit best_split(std::span<const TreeSample* const> samples, size_t leaf_samples);

}  // namespace tandem
