// H8, prediction mode for the NPU: a regression tree that is trained on measured matmuls.
//
// The tree learns the logarithm of the time divided by the multiply-adds of whole panels. So it learns how slow a shape
// is, and the work itself, which grows without bound, is left out. A shape that is larger than all samples is predicted
// at the rate of the nearest ones.
//
// Contract: a value; pure.
#pragma once

#include <span>
#include <vector>

#include "engine/measure/prediction_mode/regression_tree.h"
#include "engine/plan/prediction/matmul_point.h"

namespace tandem {

// Features in order: log2 of the tokens, of K, of the number of panels of 64 rows, and of all panels' bytes; bytes for
// each weight; whether another device reads memory too (0 or 1).
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
