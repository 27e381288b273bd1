// Times matmuls by running them: the real-execution half of the profiler (H8). Keeps nothing; engine/measure/measure.h
// does.
//
// How: a sample is a run of operators of one point, long enough that launching and waking stay below a few per cent.
// Every operator of it takes other weights (all matrices of the shape in turn, and all row slices of each), so that
// they come from memory, as in a pass; each sample goes on where the one before ended. With few tokens, where reading
// weights is what takes the time, each matrix is used once, and the rest of the pass is read before
// (engine/measure/cold_run.h). What compiles and warms up runs before the first one that counts.
//
// Contract: the operators' own buffers are used and overwritten. One thread, the executor's.
#pragma once

#include <cstdint>
#include <span>

#include "engine/device/device.h"
#include "engine/plan/prediction/matmul_point.h"
#include "engine/run/executor.h"

namespace tandem {

// Most tokens that the buffers of an operator hold from where it begins; 0: it has none (shape-only models).
int64_t most_tokens(const MatMul& op);

// Operators of one shape; not empty.
using SameMatMuls = std::span<const MatMul>;

// How much is run for one point: a planner at work wants an answer soon, a profile takes its time.
struct Effort {
  int samples = 5;
  int64_t most_operators = 256;  // in a sample; of small matrices, fewer than fill it
};
inline constexpr Effort kThorough{7, 1024};

struct MatMulTimer {
  Executor& executor;
  Effort effort{};
  std::span<const Operator> pass{};  // all its operators, for few tokens; empty: weights come as they are

  // Seconds of one operator of the point; point.S is at most most_tokens(), point.rows at most those of `same`.
  MeasuredSeconds alone(Device& device, const MatMulPoint& point, SameMatMuls same) const;
  // The same while another device multiplies too: by the weights of `others`, with as many tokens, from before the
  // first operator begins until after the last one has ended. `others` write to another buffer than `same`.
  MeasuredSeconds beside(Device& device, const MatMulPoint& point, SameMatMuls same, Device& other,
                         SameMatMuls others) const;

 private:
  MeasuredSeconds cold(Device& device, SameMatMuls same, PreparedPlan& timed, int64_t count) const;
};

}  // namespace tandem
