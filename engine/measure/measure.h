// Measures what operators cost on the devices of this machine (H8, real execution) and keeps the results on disk.
// For `tandem profile` and `tandem calibrate`. Plans use other figures: the times of real
// passes (engine/run/choice/machine_rates.h).
//
// Contract: measuring runs the caller's operators on their own buffers and takes some tens of milliseconds a point.
// Nothing is recorded in a timeline. One thread, the executor's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "engine/device/device.h"
#include "engine/measure/matmul_timer.h"
#include "engine/measure/measurement_store.h"
#include "engine/run/choice/disk_cache.h"
#include "engine/run/pass/executor.h"

namespace tandem {

// The second device of a point with `both`, and the operators that run there meanwhile (MatMulTimer::beside).
struct Beside {
  Device* device = nullptr;
  SameMatMuls matmuls{};
};
// Finds a second device to run beside `device` while `same` is timed there. The two share no core. `matrices` are all
// matmuls of a model (by_matrix()). The result's matmuls run on the second device and write to another buffer than
// `same`. Without such a device the result's `device` is nullptr.
Beside beside_for(const Device& device, SameMatMuls same, std::span<const std::unique_ptr<Device>> devices,
                  std::span<const std::vector<MatMul>> matrices);

struct Measurer {
  Executor& executor;
  DiskCache& cache;

  // Time of one matmul of the point: from disk, or else measured with `same`. pass: the operators of a whole pass. With
  // them, points of few tokens are timed as in a pass (engine/measure/cold_run.h).
  MeasuredSeconds matmul(Device& device, const MatMulPoint& point, SameMatMuls same,
                         std::span<const Operator> pass = {}, const Beside& beside = {}, const Effort& effort = {});

  // Time of any other operator, with its own tokens, at the positions that its buffer holds. KvAppend must not run
  // twice: its time is 0. Few tokens: the operators of `pass` with its kind and shape run once each, after the
  // pass's matmuls.
  MeasuredSeconds other(Device& device, const Operator& op, std::span<const Operator> pass = {},
                        const Effort& effort = {});
  static std::string other_key(const Device& device, const Operator& op);  // its key on disk
};

}  // namespace tandem
