// Times matmuls by running them: the real-execution half of the profiler (H8). It keeps no results
// (engine/measure/measure.h does).
//
// How: a sample is a run of many operators of one point. It is so long that launching and waking stay below a few per
// cent. Each operator in it uses other weights: all matrices of the shape in turn, and all row slices of each. Weights
// so come from memory, as in a pass. Each sample begins where the one before ended.
// With few tokens reading weights dominates. Then each matrix is used once, and the rest of the pass is read before
// (engine/measure/cold_run.h). Compilation and warm-up happen before the first sample that counts.
//
// Contract: the operators' own buffers are used and overwritten. One thread, the executor's.
#pragma once

#include <cstdint>
#include <span>

#include "engine/device/device.h"
#include "engine/plan/prediction/matmul_point.h"
#include "engine/run/pass/executor.h"

namespace tandem {

// The number of tokens for which x and y have room from the operator's offset on. 0: the operator has no buffers
// (models of shapes only).
int64_t most_tokens(const MatMul& op);

// Operators of one shape; not empty.
using SameMatMuls = std::span<const MatMul>;

// How much is run for one point. Profiles and calibration use kThorough; tests use the smaller default.
struct Effort {
  int samples = 5;
  int64_t most_operators = 256;  // in a sample; small matrices would need more to fill it
};
inline constexpr Effort kThorough{7, 1024};

struct MatMulTimer {
  Executor& executor;
  Effort effort{};
  std::span<const Operator> pass{};  // all its operators, for points of few tokens; empty: caches may hold weights

  // Seconds of one operator of the point. point.S is at most most_tokens(), point.rows at most the rows of `same`.
  MeasuredSeconds alone(Device& device, const MatMulPoint& point, SameMatMuls same) const;
  // The same while `other` multiplies too: it uses the weights of `others` with as many tokens. It begins before the
  // first timed operator and ends after the last one. `others` write to another buffer than `same`.
  MeasuredSeconds beside(Device& device, const MatMulPoint& point, SameMatMuls same, Device& other,
                         SameMatMuls others) const;

 private:
  MeasuredSeconds cold(Device& device, SameMatMuls same, PreparedPlan& timed, int64_t count) const;
};

}  // namespace tandem
