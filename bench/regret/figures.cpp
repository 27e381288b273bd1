#include "bench/regret/figures.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "engine/plan/prediction/statistics.h"
#include "sync/error.h"

namespace tandem::bench {
namespace {

std::optional<double> seconds_of(const HindsightPass& pass, const std::string& plan,
                                 Charged charged = Charged::median) {
  const auto found = pass.find(plan);
  if (found == pass.end() || found->second.run_seconds.empty()) return std::nullopt;
  const std::vector<double>& runs = found->second.run_seconds;
  const double mean = std::accumulate(runs.begin(), runs.end(), 0.0) / static_cast<double>(runs.size());
  return found->second.ready_seconds + (charged == Charged::mean ? mean : median(runs));
}

}  // namespace

BestPlan best_of_pass(const HindsightPass& pass) {
  std::optional<BestPlan> best;
  for (const auto& [plan, times] : pass) {
    const auto seconds = seconds_of(pass, plan);
    if (seconds && (!best || *seconds < best->seconds)) best = BestPlan{plan, *seconds};
  }
  if (!best) throw Error("a pass has no times", "regret", "Time at least one plan");
  return *best;
}

std::map<int64_t, std::string> best_by_length(std::span<const Pass> passes, std::span<const HindsightPass> hindsight) {
  struct Sum {
    double seconds = 0;
    int64_t passes = 0;
  };
  std::map<int64_t, std::map<std::string, Sum>> sums;
  std::map<int64_t, int64_t> counts;
  for (size_t i = 0; i < passes.size(); ++i) {
    ++counts[passes[i].tokens];
    for (const auto& [plan, times] : hindsight[i]) {
      const auto seconds = seconds_of(hindsight[i], plan);
      if (!seconds) continue;
      Sum& sum = sums[passes[i].tokens][plan];
      sum.seconds += *seconds;
      ++sum.passes;
    }
  }
  std::map<int64_t, std::string> best;
  for (const auto& [tokens, plans] : sums) {
    std::optional<double> least;
    for (const auto& [plan, sum] : plans) {
      if (sum.passes != counts[tokens] || (least && sum.seconds >= *least)) continue;
      least = sum.seconds;
      best[tokens] = plan;
    }
    if (!least) throw Error("no plan was timed in all passes of a length", std::to_string(tokens) + " tokens");
  }
  return best;
}

Regret regret_of(std::span<const Pass> passes, std::span<const PlayedPass> played,
                 std::span<const HindsightPass> hindsight, size_t count, Charged charged) {
  const auto by_length = best_by_length(passes, hindsight);
  Regret regret;
  for (size_t i = 0; i < std::min(count, passes.size()); ++i) {
    const BestPlan best = best_of_pass(hindsight[i]);
    const auto taken = seconds_of(hindsight[i], played[i].plan),
               charged_for_taken = seconds_of(hindsight[i], played[i].plan, charged);
    regret.played_seconds += played[i].seconds();
    regret.ready_seconds += played[i].ready_seconds;
    const std::string& by = by_length.at(passes[i].tokens);
    const double best_for_length = seconds_of(hindsight[i], by, charged).value();
    regret.best_seconds += best_for_length;
    regret.prepared_seconds += best_for_length - hindsight[i].at(by).ready_seconds;
    regret.best_of_each_seconds += best.seconds;
    regret.taken_seconds += charged_for_taken.value_or(played[i].seconds());
    ++regret.passes;
    regret.best += taken && played[i].plan == best.plan;
    regret.within_5_percent += taken && *taken <= 1.05 * best.seconds;
  }
  return regret;
}

std::vector<size_t> worst_passes(std::span<const Pass> passes, std::span<const PlayedPass> played,
                                 std::span<const HindsightPass> hindsight, size_t count) {
  const auto by_length = best_by_length(passes, hindsight);
  std::vector<double> lost;
  for (size_t i = 0; i < passes.size(); ++i)
    lost.push_back(played[i].seconds() - seconds_of(hindsight[i], by_length.at(passes[i].tokens)).value());
  std::vector<size_t> order(passes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return lost[a] > lost[b]; });
  order.resize(std::min(count, order.size()));
  return order;
}

}  // namespace tandem::bench
