// Measures, by running them, how long matmuls of each shape take on each device (H8, real-execution mode), and cuts
// rows by it.
//
// Kernels of one operator and shape take the same time in every layer (H7), so one figure a shape is enough. Weights
// are read as in a real pass: all matrices of one shape in turn, so that they come from memory and not from a cache.
// Results are kept on disk, keyed by device, driver, cores and shape.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "engine/device/device.h"
#include "engine/plan/strategy.h"
#include "engine/run/disk_cache.h"
#include "engine/run/executor.h"

namespace tandem {

// Tokens a measurement stands for: 1 (decode), 8 (a few), 64 and 128 (prefill). Time per token hardly changes within a
// class.
int64_t token_class(int64_t S);

struct Measurer {
  Executor& executor;
  DiskCache& cache;

  // Least seconds, of a few samples, of one matmul of this shape on the device; `same` are all operators of that shape
  // (not empty).
  double matmul_seconds(Device& device, std::span<const MatMul> same);

  // The same of any other operator, with the tokens it has, at the positions that its buffer holds. 0 for what must not
  // run twice: writing to the KV cache.
  double other_seconds(Device& device, const Operator& op);

  // Predicts operators of a plan for these devices; matmuls by one of `operators` of their shape. Borrows the
  // measurer's executor and cache, and `devices`.
  PlanCosts predictor(std::span<const Operator> operators, std::span<const std::unique_ptr<Device>> devices);

  // Best cut of every matmul among the operators that all the devices run (row_cutters(), in their order).
  RowShares row_shares(std::span<const Operator> operators, std::span<Device* const> cutters);
};

// What joining two parts costs beyond their own time: two flags and the gate kernel (measured: 0.1 us a flag, 0.7 us a
// gate kernel).
inline constexpr double kJoinSeconds = 2e-6;

std::string measurement_key(const DeviceInfo& device);

}  // namespace tandem
