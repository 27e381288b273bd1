// A processor profile with round numbers, so that times can be worked out by hand, and operators with such times.
#pragma once

#include "engine/device/operator.h"
#include "engine/plan/model_clock/soc_profile.h"

namespace tandem {

inline constexpr double kMega = 1 << 20;
inline constexpr double kMs = 1e-3;

// A matmul of K = N = 1024 and one token has 2^20 weights of one byte and 2^21 operations:
//   GPU  max(2^21 / (2^21 / 1 ms), 2^20 / (2^20 / 0.5 ms)) = 1 ms
//   NPU  its stream, one byte a weight: 2^20 / (2^20 / 2 ms) = 2 ms; arrays and fills cost next to nothing
// Crossings, launches, submissions, power and the rendering load are 0 until a test sets them.
inline SocProfile round_profile() {
  SocProfile p;
  p.name = "round";
  p.memory = {100 * kMega / kMs, 100 * kMega / kMs};
  p.gpu = {2 * kMega / kMs, 1e9, 2 * kMega / kMs, 0, 0};
  p.npu.array_rows = p.npu.array_cols = 32;
  p.npu.arrays = 1;
  p.npu.clock_hz = 1e15;
  p.npu.stationary_bytes = 1 << 20;
  p.npu.fill_bytes_per_second = 1e18;
  p.npu.stream_bytes_per_second = kMega / (2 * kMs);
  p.npu.bytes_per_second = 1e15;
  p.npu.weight_bytes = 2;
  p.npu.decode_weight_bytes = 1;
  p.npu.decode_tokens = 1;
  p.npu.graph_tokens = {32, 64};
  p.load.period_seconds = 1;
  p.weight_bits = 8;
  p.row_step = p.token_step = 32;
  return p;
}

inline MatMul megabyte_matmul(int64_t S = 1, int64_t rows = 1024) {
  MatMul op;
  op.S = S;
  op.K = op.x_stride = 1024;
  op.row_end = op.y_stride = rows;
  op.w = {packed_format(StorageType::q4_0), rows, 1024, {}};
  return op;
}

}  // namespace tandem
