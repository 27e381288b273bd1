// H8, prediction mode: predicts a device's matmul times without running them, from measured points. An NPU has a
// regression tree. A GPU has fixed rates, and so does the host in place of a GPU. `tandem profile` uses this; plans
// do not.
//
// Contract: a value; pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "engine/device/device.h"
#include "engine/measure/prediction_mode/gpu_prediction.h"
#include "engine/measure/prediction_mode/npu_prediction.h"

namespace tandem {

class MatMulPrediction {
 public:
  // The prediction of a device with static graphs, which is an NPU, and that of any other device. Error if there are
  // too few points to learn from.
  static MatMulPrediction of_graphs(std::span<const MeasuredPoint> points);
  static MatMulPrediction of_kernels(std::span<const MeasuredPoint> points);

  bool knows(const MatMulPoint& point) const;  // an NPU: any point; a GPU: points of a weight format with rates
  // Error if it does not know the point.
  double seconds(const MatMulPoint& point) const;
  // The fitted constants as text, one line for each weight format; of a tree, the number of its leaves.
  std::string describe() const;

 private:
  struct Rates {
    GpuRates alone;
    std::optional<GpuRates> both;  // absent if no points with `both` were measured
  };
  std::optional<NpuPrediction> npu_;
  std::map<std::string, Rates> gpu_;  // by weight format
};

}  // namespace tandem
