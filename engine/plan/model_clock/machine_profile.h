// Makes a processor profile of this machine: fits the few constants of the model clock to measurements of GPU and NPU.
//
// The constants and the measurements that they come from:
//   gpu.flops                        matmuls of 32 tokens and more.
//   gpu.attention_flops              attention of several tokens.
//   gpu.decode_attention_flops       attention of a single token, its cache in memory.
//   gpu/npu.bytes_per_second         matmuls of a single token, each device alone.
//   memory.shared_bytes_per_second   a pass's cut matmuls on both devices at the same time, without waits.
//   gpu.submit_seconds               the median of the small operators of a single token.
//   npu.clock_hz                     matmuls of 16 tokens and more, as 32 cells that take their folds in turn, like a
//                                    core's vector units. The emulated array's time shows no fills, and all blocks fit.
//   sync.fast_seconds                half of the cost of joining a cut matmul of a single token: one half on each side.
//   gpu.submit_empty_seconds         the additional cost of joining with several tokens, whose kernels are launched one
//                                    by one.
//
// Each rate r minimises the squared relative errors of its points. With q = measured amount / seconds and x = 1 / r,
// sum (q x - 1)^2 is least at r = sum q^2 / sum q.
//
// Contract: pure functions. Every key's source says whether its value is measured, taken from the emulator's
// parameters, or assumed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/plan/model_clock/soc_profile.h"
#include "engine/plan/prediction/matmul_point.h"

namespace tandem {

struct Timed {
  double amount = 0;  // operations, bytes or cycles
  double seconds = 0;
};
// The rate in amounts per second. Error without points; it names the measurements `of` that are missing.
double least_squares_rate(std::span<const Timed> points, const char* of);

struct MachineMeasurements {
  std::string machine, date;              // for the sources
  std::vector<MeasuredPoint> gpu, npu;    // matmuls; points with `both` are not used
  std::vector<Timed> attention;           // operations on the GPU, several tokens
  std::vector<Timed> token_attention;     // the same for a single token
  double kernel_seconds = 0;              // time of a small operator on the GPU
  double shared_bytes_per_second = 0;     // weights that both devices read at the same time
  double token_join_seconds = 0;          // what mutual waits add to a cut matmul of a single token
  double prompt_join_seconds = 0;         // the same for several tokens
  std::vector<int64_t> npu_graph_tokens;  // rising
};

// The mean of every number over all rounds, which must have measured the same points in the same order. Error if their
// numbers of points differ.
MachineMeasurements mean_of(std::span<const MachineMeasurements> rounds);

// The profile "this-machine", with a source for every key.
SocProfile machine_profile(const MachineMeasurements& measured);

}  // namespace tandem
