// H8, prediction mode for the NPU: a regression tree that was trained on measured matmuls.
//
// What the tree learns is how much slower than the bare work a shape is: the logarithm of the time divided by the
// multiply-adds of whole panels. So the work itself, which grows without bound, is no matter of the tree, and a shape
// larger than any that it has seen is predicted at the rate of the nearest ones.
#pragma once

#include <span>
#include <vector>

#include "engine/plan/prediction/matmul_point.h"
#include "engine/plan/prediction/regression_tree.h"

namespace tandem {

// log2 of the tokens, of K, of the panels of 64 rows, of all panels' bytes; bytes per weight; whether another device
// reads memory too.
std::vector<double> npu_features(const MatMulPoint& point);

class NpuPrediction {
 public:
  // Error without points.
  static NpuPrediction fit(std::span<const MeasuredPoint> points);
  double seconds(const MatMulPoint& point) const;
  const RegressionTree& tree() const { return tree_; }

 private:
  explicit NpuPrediction(RegressionTree tree) : tree_(std::move(tree)) {}
  RegressionTree tree_;
};

}  // namespace tandem
