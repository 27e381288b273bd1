// What operators cost on the devices at hand (H8): measured when first asked for, kept on disk, interpolated in
// between; and the cuts of rows that follow.
//
// What a matmul costs: engine/run/matmul_costs.h.
//
// Contract: measuring runs the operators given, on their own buffers, and takes some tens of milliseconds a point.
// Nothing of it is recorded in a timeline. One thread, the executor's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "engine/device/device.h"
#include "engine/plan/strategy.h"
#include "engine/run/disk_cache.h"
#include "engine/run/executor.h"
#include "engine/run/kept_points.h"
#include "engine/run/matmul_timer.h"

namespace tandem {

// For points with `both`: another device, and operators for it (MatMulTimer::beside).
struct Beside {
  Device* device = nullptr;
  SameMatMuls matmuls{};
};
// For a device and the operators that are timed on it: another one with cores of its own, and matmuls of `matrices`
// (by_matrix()) that it runs and that write elsewhere. No device: there is none.
Beside beside_for(const Device& device, SameMatMuls same, std::span<const std::unique_ptr<Device>> devices,
                  std::span<const std::vector<MatMul>> matrices);

struct Measurer {
  Executor& executor;
  DiskCache& cache;

  // One matmul of the point; measured on `same`, unless it is on disk. pass: the operators of a whole pass, so that few
  // tokens are timed as in one (engine/run/cold_run.h).
  MeasuredSeconds matmul(Device& device, const MatMulPoint& point, SameMatMuls same,
                         std::span<const Operator> pass = {}, const Beside& beside = {}, const Effort& effort = {});

  // Any other operator, with the tokens it has, at the positions that its buffer holds. Zeros for what must not run
  // twice: writing to the KV cache. Few tokens: those of the pass that are like it, once each, after its matmuls.
  MeasuredSeconds other(Device& device, const Operator& op, std::span<const Operator> pass = {},
                        const Effort& effort = {});
  static std::string other_key(const Device& device, const Operator& op);  // on disk

  // Predicts operators of a plan for these devices; matmuls are measured on those of `operators` with the same weights'
  // shape. Borrows the measurer's executor and cache, and `devices`.
  PlanCosts predictor(std::span<const Operator> operators, std::span<const std::unique_ptr<Device>> devices);

  // Best cut of every matmul among the operators that all the devices run (row_cutters(), in their order).
  RowShares row_shares(std::span<const Operator> operators, std::span<Device* const> cutters);
};

// What joining two parts costs beyond their own time: two flags and the gate kernel (measured: 0.1 us a flag, 0.7 us a
// gate kernel).
inline constexpr double kJoinSeconds = 2e-6;

}  // namespace tandem
