#include "engine/app/commands/bench/bench_row.h"

#include <cmath>

#include "sync/error.h"

namespace tandem::app {

std::string BenchRow::test() const {
  const std::string name = n_gen == 0 ? "pp" + std::to_string(n_prompt) : "tg" + std::to_string(n_gen);
  return n_depth == 0 ? name : name + " @ d" + std::to_string(n_depth);
}

std::vector<double> BenchRow::rates() const {
  std::vector<double> out;
  for (double s : seconds) out.push_back(static_cast<double>(tokens()) / s);
  return out;
}

// Each row is a test of its own: a prompt or generated tokens, as in llama-bench. A 0 on the command line switches that
// kind of test off.
std::vector<BenchRow> bench_rows(const BenchFlags& flags) {
  std::vector<BenchRow> rows;
  for (int64_t depth : flags.n_depth) {
    for (int64_t n : flags.n_prompt) {
      if (n > 0) rows.push_back({n, 0, depth, {}, {}, {}});
    }
    for (int64_t n : flags.n_gen) {
      if (n > 0) rows.push_back({0, n, depth, {}, {}, {}});
    }
  }
  if (rows.empty()) throw Error("there is nothing to measure", "bench", "Give -p or -n a number above 0");
  return rows;
}

// Two passes over the values: the mean first, then the squares of the distances to it. A single value has no spread.
MeanAndSpread mean_and_spread(const std::vector<double>& values) {
  MeanAndSpread result;
  for (double v : values) result.mean += v / static_cast<double>(values.size());
  if (values.size() < 2) return result;
  for (double v : values)
    result.deviation += (v - result.mean) * (v - result.mean) / static_cast<double>(values.size() - 1);
  result.deviation = std::sqrt(result.deviation);
  return result;
}

}  // namespace tandem::app
