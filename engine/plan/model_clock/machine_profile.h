// A processor profile of the machine at hand: what was measured of its GPU and NPU, as the few constants that the model
// clock knows.
//
//   gpu.flops, gpu.attention_flops   32 tokens and more; gpu.decode_attention_flops: a single one, its cache in memory
//   gpu/npu.bytes_per_second         single tokens, each alone
//   memory.shared_bytes_per_second   a pass's cut matmuls beside each other, nobody waiting
//   gpu.submit_seconds               the median of the small operators of a single token
//   npu.clock_hz                     32 cells that take their folds in turn, as a core's vector units do, 16 tokens and
//                                    more. The emulated array's time has neither fills nor a block that is too large.
//   sync.fast_seconds                what joining costs a cut matmul of a single token: a half on either side of it
//   gpu.submit_empty_seconds         what it costs more with several tokens, where kernels are launched one by one
//
// Each constant is a rate r, and minimises the squared relative errors of its points: with q = amount / seconds
// measured and x = 1 / r, sum (q x - 1)^2 is least at r = sum q^2 / sum q.
//
// Contract: pure. Every key's source says what it is: measured, taken over from the emulator's parameters, or assumed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/plan/model_clock/soc_profile.h"
#include "engine/plan/prediction/matmul_point.h"

namespace tandem {

struct Timed {
  double amount = 0;  // operations, bytes, cycles
  double seconds = 0;
};
double least_squares_rate(std::span<const Timed> points, const char* of);  // Error without points: none of `of`

struct MachineMeasurements {
  std::string machine, date;              // for the sources
  std::vector<MeasuredPoint> gpu, npu;    // matmuls, alone
  std::vector<Timed> attention;           // operations on the GPU, several tokens
  std::vector<Timed> token_attention;     // the same of a single one
  double kernel_seconds = 0;              // of a small operator on the GPU
  double shared_bytes_per_second = 0;     // of weights, by both at once
  double token_join_seconds = 0;          // waiting for each other, of a cut matmul of a single token
  double prompt_join_seconds = 0;         // the same of several tokens
  std::vector<int64_t> npu_graph_tokens;  // rising
};

// Of rounds that measured the same points in the same order: the mean of every number. Error: they did not.
MachineMeasurements mean_of(std::span<const MachineMeasurements> rounds);

SocProfile machine_profile(const MachineMeasurements& measured);

}  // namespace tandem
