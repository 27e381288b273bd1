#include "engine/measure/prediction_mode/regression_tree.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "sync/error.h"

namespace tandem {
namespace {

// The sum of squared distances from the mean, which stays available while samples are added.
struct Squares {
  double count = 0, sum = 0, sum_of_squares = 0;
  void add(double value) {
    ++count;
    sum += value;
    sum_of_squares += value * value;
  }
  double from_mean() const { return count == 0 ? 0 : std::max(0.0, sum_of_squares - sum * sum / count); }
};

Squares squares_of(std::span<const TreeSample* const> samples) {
  Squares squares;
  for (const TreeSample* sample : samples) squares.add(sample->value);
  return squares;
}

// Less by more than rounding errors, so that these do not choose a split.
bool clearly_less(double a, double b) { return a < b - 1e-12 * std::max(1.0, std::abs(b)); }

}  // namespace

// For each feature, sorts the samples by it and tries every threshold between two different values. Running sums give
// both parts' squares in constant time.
TreeSplit best_split(std::span<const TreeSample* const> samples, size_t leaf_samples) {
  const Squares all = squares_of(samples);
  TreeSplit best{-1, 0, all.from_mean()};
  if (samples.empty()) return best;
  std::vector<const TreeSample*> sorted(samples.begin(), samples.end());
  for (size_t f = 0; f < samples.front()->features.size(); ++f) {
    // Equal features are sorted by value, so that sums do not depend on the order in which samples came.
    std::ranges::sort(sorted, [f](const TreeSample* a, const TreeSample* b) {
      return a->features[f] != b->features[f] ? a->features[f] < b->features[f] : a->value < b->value;
    });
    Squares below;
    for (size_t i = 0; i + 1 < sorted.size(); ++i) {
      below.add(sorted[i]->value);
      const double here = sorted[i]->features[f], next = sorted[i + 1]->features[f];
      if (here == next || i + 1 < leaf_samples || sorted.size() - (i + 1) < leaf_samples) continue;
      const Squares above{all.count - below.count, all.sum - below.sum, all.sum_of_squares - below.sum_of_squares};
      // The best split leaves the least squared error in both parts together.
      const double squares = below.from_mean() + above.from_mean();
      if (clearly_less(squares, best.squares_left)) best = {static_cast<int>(f), (here + next) / 2, squares};
    }
  }
  return best;
}

RegressionTree RegressionTree::fit(std::span<const TreeSample> samples, const TreeLimits& limits) {
  if (samples.empty()) throw Error("there is nothing to learn from", "a regression tree", "Measure some points first");
  std::vector<const TreeSample*> pointers;
  for (const TreeSample& sample : samples) {
    if (sample.features.size() != samples.front().features.size())
      throw Error("samples have different numbers of features", "a regression tree");
    pointers.push_back(&sample);
  }
  RegressionTree tree;
  tree.grow(pointers, limits, 0);
  return tree;
}

// Adds a node for the samples and, below it, both sides of their best split. Returns the node's index. The vector moves
// its nodes when it grows, so the node is referred to only after its children were added.
int RegressionTree::grow(std::span<const TreeSample*> samples, const TreeLimits& limits, int depth) {
  const int index = static_cast<int>(nodes_.size());
  const Squares squares = squares_of(samples);
  nodes_.push_back({-1, 0, -1, -1, squares.sum / squares.count});
  const TreeSplit split = depth < limits.depth ? best_split(samples, limits.leaf_samples) : TreeSplit{};
  if (split.feature < 0) return index;
  const auto first_above = std::partition(samples.begin(), samples.end(), [&](const TreeSample* sample) {
    return sample->features[static_cast<size_t>(split.feature)] < split.threshold;
  });
  const auto below_count = static_cast<size_t>(first_above - samples.begin());
  const int below = grow(samples.first(below_count), limits, depth + 1);
  const int above = grow(samples.subspan(below_count), limits, depth + 1);
  Node& node = nodes_[static_cast<size_t>(index)];
  node.feature = split.feature;
  node.threshold = split.threshold;
  node.below = below;
  node.above = above;
  return index;
}

double RegressionTree::predict(std::span<const double> features) const {
  size_t at = 0;
  while (nodes_[at].feature >= 0) {
    const Node& node = nodes_[at];
    const auto feature = static_cast<size_t>(node.feature);
    TANDEM_CHECK(feature < features.size(), "a prediction needs all features");
    at = static_cast<size_t>(features[feature] < node.threshold ? node.below : node.above);
  }
  return nodes_[at].value;
}

}  // namespace tandem
