// The two loops whose speed is a core's roof, in the best instruction set of this processor.
//
// Contract: thread-safe. Each loop returns a value that depends on all its steps, so that the compiler can remove
// none of them.
#pragma once

#include <cstdint>

namespace tandem {

struct RooflineLoops {
  const char* instruction_set;  // "AVX3", "AVX2", "SSE4" ...: Highway's name
  bool fused;                   // false: there is no fused multiply-add; each step is a multiplication and an addition
  int64_t flops_per_round;
  float (*fma)(int64_t rounds);  // independent chains of multiply-adds, all in registers
  // Sums `count` words, a multiple of kReadWords; `words` is 64-byte aligned.
  uint32_t (*read)(const uint32_t* words, int64_t count);
};
inline constexpr int64_t kReadWords = 1024;

const RooflineLoops& roofline_loops();  // chosen at run time

}  // namespace tandem
