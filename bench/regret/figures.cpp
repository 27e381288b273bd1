#include "bench/regret/figures.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "engine/plan/prediction/statistics.h"
#include "sync/error.h"

namespace tandem::bench {
namespace {

// Runs are charged by their mean or by their median. A mean keeps the hiccups that a player meets as well.
double seconds_of_runs(const std::vector<double>& runs, Charged charged) {
  if (charged == Charged::median) return median(runs);
  return std::accumulate(runs.begin(), runs.end(), 0.0) / static_cast<double>(runs.size());
}

// Preparing and running a plan in one pass; absent if the plan did not run there.
std::optional<double> seconds_of(const HindsightPass& pass, const std::string& plan,
                                 Charged charged = Charged::median) {
  const auto found = pass.find(plan);
  if (found == pass.end() || found->second.run_seconds.empty()) return std::nullopt;
  return found->second.ready_seconds + seconds_of_runs(found->second.run_seconds, charged);
}

// The same times without run number `run` of each plan. A plan that has no other run keeps it.
std::vector<HindsightPass> without_run(std::span<const HindsightPass> hindsight, size_t run) {
  std::vector<HindsightPass> others(hindsight.begin(), hindsight.end());
  for (HindsightPass& pass : others) {
    for (auto& [plan, times] : pass) {
      if (times.run_seconds.size() > std::max<size_t>(run, 1))
        times.run_seconds.erase(times.run_seconds.begin() + static_cast<std::ptrdiff_t>(run));
    }
  }
  return others;
}

// The charge for a pass: preparing the best plan, and one run of it.
struct ChargedRun {
  double ready_seconds = 0, run_seconds = 0;
};

// A plan that was left out early has fewer runs than others.
size_t most_runs(std::span<const HindsightPass> hindsight) {
  size_t most = 0;
  for (const HindsightPass& pass : hindsight)
    for (const auto& [plan, times] : pass) most = std::max(most, times.run_seconds.size());
  return most;
}

// For each pass, the entries whose average hindsight is charged.
std::vector<std::vector<ChargedRun>> charges(std::span<const Pass> passes, std::span<const HindsightPass> hindsight,
                                             Charged charged) {
  std::vector<std::vector<ChargedRun>> list(passes.size());
  if (charged == Charged::held_out) {
    for (size_t run = 0; run < most_runs(hindsight); ++run) {
      const auto by_length = best_by_length(passes, without_run(hindsight, run));
      for (size_t i = 0; i < passes.size(); ++i) {
        const PlanTimes& best = hindsight[i].at(by_length.at(passes[i].tokens));
        if (run < best.run_seconds.size()) list[i].push_back({best.ready_seconds, best.run_seconds[run]});
      }
    }
    return list;
  }
  const auto by_length = best_by_length(passes, hindsight);
  for (size_t i = 0; i < passes.size(); ++i) {
    const PlanTimes& best = hindsight[i].at(by_length.at(passes[i].tokens));
    list[i].push_back({best.ready_seconds, seconds_of_runs(best.run_seconds, charged)});
  }
  return list;
}

}  // namespace

// The best plan for one pass, by medians.
BestPlan best_of_pass(const HindsightPass& pass) {
  std::optional<BestPlan> best;
  for (const auto& [plan, times] : pass) {
    const auto seconds = seconds_of(pass, plan);
    if (seconds && (!best || *seconds < best->seconds)) best = BestPlan{plan, *seconds};
  }
  if (!best) throw Error("a pass has no times", "regret", "Time at least one plan");
  return *best;
}

// Only plans that ran in all passes of a length count. The length's best is the least sum of their times, since a user
// would choose one plan for the length.
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

// Sums over the first passes what was played, and what the best plans would have taken, prepared or not. It also counts
// how often the player took the best one.
Regret regret_of(std::span<const Pass> passes, std::span<const PlayedPass> played,
                 std::span<const HindsightPass> hindsight, size_t count, Charged charged) {
  const auto charged_runs = charges(passes, hindsight, charged);
  Regret regret;
  for (size_t i = 0; i < std::min(count, passes.size()); ++i) {
    const BestPlan best = best_of_pass(hindsight[i]);
    const auto taken = seconds_of(hindsight[i], played[i].plan),
               charged_for_taken = seconds_of(hindsight[i], played[i].plan, charged);
    regret.played_seconds += played[i].seconds();
    regret.ready_seconds += played[i].ready_seconds;
    for (const ChargedRun& run : charged_runs[i]) {
      const auto share = 1.0 / static_cast<double>(charged_runs[i].size());
      regret.best_seconds += share * (run.ready_seconds + run.run_seconds);
      regret.prepared_seconds += share * run.run_seconds;
    }
    regret.best_of_each_seconds += best.seconds;
    regret.taken_seconds += charged_for_taken.value_or(played[i].seconds());
    ++regret.passes;
    regret.best += taken && played[i].plan == best.plan;
    regret.within_5_percent += taken && *taken <= 1.05 * best.seconds;
  }
  return regret;
}

// The loss of a pass is its time beyond that of the plan that is best for its length.
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
