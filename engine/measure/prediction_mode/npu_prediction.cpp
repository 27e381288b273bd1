// Predicts the time of an NPU's graphs by a regression tree, because it jumps where a tile more is needed.
#include "engine/measure/prediction_mode/npu_prediction.h"

#include <cmath>
#include <utility>

namespace tandem {
namespace {

// The bare work: whole panels.
double multiply_adds(const MatMulPoint& point) {
  return static_cast<double>(point.S) * static_cast<double>(point.K) *
         static_cast<double>(panel_count(point.rows) * kPanelRows);
}

}  // namespace

// H8: the inputs of the decision tree. With logarithms, a threshold between two sizes is their geometric mean.
std::vector<double> npu_features(const MatMulPoint& point) {
  return {std::log2(static_cast<double>(point.S)),
          std::log2(static_cast<double>(point.K)),
          std::log2(static_cast<double>(panel_count(point.rows))),
          std::log2(weight_bytes(point)),
          bytes_per_weight(point.format),
          point.both ? 1.0 : 0.0};
}

// The tree learns the logarithm of the seconds for one multiply-add. A leaf then stands for a rate, and seconds()
// multiplies it by the work of the point.
NpuPrediction NpuPrediction::fit(std::span<const MeasuredPoint> points) {
  std::vector<TreeSample> samples;
  for (const MeasuredPoint& measured : points)
    samples.push_back({npu_features(measured.point), std::log(measured.seconds / multiply_adds(measured.point))});
  return NpuPrediction(RegressionTree::fit(samples));
}

double NpuPrediction::seconds(const MatMulPoint& point) const {
  return multiply_adds(point) * std::exp(tree_.predict(npu_features(point)));
}

}  // namespace tandem
