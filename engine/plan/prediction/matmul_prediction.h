// H8, prediction mode: a device's matmul times without running them, from what was measured on it: a regression tree
// for an NPU, fixed rates for a GPU (and for the host, which stands in for one).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "engine/device/device.h"
#include "engine/plan/prediction/gpu_prediction.h"
#include "engine/plan/prediction/npu_prediction.h"

namespace tandem {

class MatMulPrediction {
 public:
  // Error where the points are too few to learn from.
  static MatMulPrediction fit(DeviceKind kind, std::span<const MeasuredPoint> points);

  bool knows(const MatMulPoint& point) const;  // a GPU: its weight format
  // Error where it does not know the point.
  double seconds(const MatMulPoint& point) const;
  // What was fitted, a line each, for people.
  std::string describe() const;

 private:
  struct Rates {
    GpuRates alone;
    std::optional<GpuRates> both;  // where such points were measured
  };
  std::optional<NpuPrediction> npu_;
  std::map<std::string, Rates> gpu_;  // by weight format
};

}  // namespace tandem
