// What matmuls cost on the devices at hand, for planners. In this order:
//   1. what was measured of the point (format, tokens, K, rows, alone or beside another device's work),
//   2. what lies between the measured token sizes around its own (8 tokens and fewer, then powers of two), for whole
//      matrices, in proportion to its panels of 64 rows; sizes that were not measured yet are measured now,
//   3. where nothing can be measured (no buffers: a shape-only model, or more tokens than they hold), what prediction
//      mode makes of everything that was measured on the device (engine/plan/matmul_prediction.h).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "engine/plan/matmul_prediction.h"
#include "engine/run/measure.h"

namespace tandem {

class MatMulCosts {
 public:
  // Borrows the measurer's executor and cache, and `devices`.
  MatMulCosts(const Measurer& measurer, std::span<const Operator> operators,
              std::span<const std::unique_ptr<Device>> devices);

  double seconds(size_t device, const MatMul& op, bool both);

 private:
  double measured(Device& device, const MatMulPoint& point, SameMatMuls same) const;
  double predicted(size_t device, const MatMulPoint& point);

  Measurer measurer_;
  std::span<const std::unique_ptr<Device>> devices_;
  std::vector<Operator> pass_;
  std::vector<std::vector<MatMul>> matrices_;
  // By device, matrix, tokens, rows, both: planners ask the same again and again.
  std::map<std::tuple<size_t, size_t, int64_t, int64_t, bool>, double> known_;
  std::map<size_t, std::optional<MatMulPrediction>> predictions_;  // by device
};

}  // namespace tandem
