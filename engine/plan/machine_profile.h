// A processor profile of the machine at hand: what was measured of its GPU and NPU, as the few constants that the model
// clock knows.
//
//   gpu.flops, gpu.attention_flops   32 tokens and more
//   gpu/npu.bytes_per_second         single tokens, each alone; memory.shared: both at once, added up
//   gpu.submit_seconds               the shortest kernel of a filled queue
//   npu.clock_hz                     32 cells that take their folds in turn, as a core's vector units do, 16 tokens and
//                                    more. The emulated array's time has neither fills nor a block that is too large.
//   sync.fast_seconds                one crossing of a plan that alternates between both
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

#include "engine/plan/matmul_point.h"
#include "engine/plan/soc_profile.h"

namespace tandem {

struct Timed {
  double amount = 0;  // operations, bytes, cycles
  double seconds = 0;
};
double least_squares_rate(std::span<const Timed> points, const char* of);  // Error without points: none of `of`

struct MachineMeasurements {
  std::string machine, date;              // for the sources
  std::vector<MeasuredPoint> gpu, npu;    // matmuls, alone and beside the other one's work
  std::vector<Timed> attention;           // operations on the GPU, several tokens
  double kernel_seconds = 0;              // of the shortest operator on the GPU
  double crossing_seconds = 0;            // from one device's end to the other one's start
  std::vector<int64_t> npu_graph_tokens;  // rising
};

SocProfile machine_profile(const MachineMeasurements& measured);

}  // namespace tandem
