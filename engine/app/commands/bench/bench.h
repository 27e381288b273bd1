// `tandem bench`: tokens per second of prompt processing and token generation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/app/common_flags.h"

namespace tandem::app {

struct BenchFlags {
  std::vector<int64_t> n_prompt{512};  // one test each; 0: no test
  std::vector<int64_t> n_gen{128};
  std::vector<int64_t> n_depth{0};  // tokens in the context before the timed ones; every test runs at every depth
  std::vector<int64_t> parallel;    // texts at once (engine/app/commands/bench/bench_parallel.h); empty: one text
  int64_t mixed = 0;  // requests of random lengths (engine/app/commands/bench/bench_mixed.h); 0: all alike
  int repetitions = 5;
  bool breakdown = false;     // record one more repetition, and split its time
  bool roofline = false;      // measure what the cores can do at most, and compare
  std::string output = "md";  // "md", "json", "csv"
};

int bench_command(const CommonFlags& flags, const BenchFlags& bench);

}  // namespace tandem::app
