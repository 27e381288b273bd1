// One test of `tandem bench` and its measurements. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/app/commands/bench/bench.h"
#include "engine/app/commands/bench/verification.h"
#include "engine/measure/breakdown.h"
#include "engine/measure/roofline.h"
#include "engine/run/choice/plans_ran.h"

namespace tandem::app {

// Figures of --roofline.
struct RowRoofline {
  Work work;             // of one repetition
  CorePeaks peaks;       // measured between the repetitions
  bool is_roof = false;  // all work ran on the cores whose peaks these are
};

struct BenchRow {
  int64_t n_prompt = 0, n_gen = 0;  // one of them is 0
  int64_t n_depth = 0;              // tokens in the context before the test
  std::vector<double> seconds;      // one for each repetition
  std::optional<RowRoofline> roofline;
  std::optional<Breakdown> breakdown;  // from one more repetition, which was recorded
  Verification verification{};         // result of the comparison before timing
  std::vector<PlanRan> plans{};        // plans that ran while the row was timed

  int64_t tokens() const { return n_prompt + n_gen; }
  std::string test() const;           // as llama-bench names it: "pp512", "tg128 @ d1024"
  std::vector<double> rates() const;  // tokens per second
};

// Every test at every depth, prompts first, in llama-bench's order. Error when there is no test.
std::vector<BenchRow> bench_rows(const BenchFlags& flags);

struct MeanAndSpread {
  double mean = 0, deviation = 0;  // of a sample: divided by n - 1
};
MeanAndSpread mean_and_spread(const std::vector<double>& values);

}  // namespace tandem::app
