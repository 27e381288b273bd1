// What operators cost on the devices at hand (H8, real execution): measured when first asked for, kept on disk. For
// `tandem profile` and `tandem calibrate`; plans are made from what passes took (engine/run/machine_rates.h).
//
// Contract: measuring runs the operators given, on their own buffers, and takes some tens of milliseconds a point.
// Nothing of it is recorded in a timeline. One thread, the executor's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "engine/device/device.h"
#include "engine/measure/matmul_timer.h"
#include "engine/measure/measurement_store.h"
#include "engine/run/disk_cache.h"
#include "engine/run/executor.h"

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
  // tokens are timed as in one (engine/measure/cold_run.h).
  MeasuredSeconds matmul(Device& device, const MatMulPoint& point, SameMatMuls same,
                         std::span<const Operator> pass = {}, const Beside& beside = {}, const Effort& effort = {});

  // Any other operator, with the tokens it has, at the positions that its buffer holds. Zeros for what must not run
  // twice: writing to the KV cache. Few tokens: those of the pass that are like it, once each, after its matmuls.
  MeasuredSeconds other(Device& device, const Operator& op, std::span<const Operator> pass = {},
                        const Effort& effort = {});
  static std::string other_key(const Device& device, const Operator& op);  // on disk
};

}  // namespace tandem
