// Computes the cost of choosing plans: the passes as they were played, compared with the best plan for each.
//
// Contract: pure functions. Times are in seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench/regret/passes.h"

namespace tandem::bench {

// A pass as the player ran it: once, like a user's pass.
struct PlayedPass {
  std::string plan;          // the plan that the player chose
  double ready_seconds = 0;  // choosing and preparing the plan
  double run_seconds = 0;
  double seconds() const { return ready_seconds + run_seconds; }
};

// The same pass with a plan that the player could have chosen. A user who knows the plan need not choose, but must
// prepare it unless an earlier pass did. It ran several times.
struct PlanTimes {
  std::vector<double> run_seconds;
  double ready_seconds = 0;
};
using HindsightPass = std::map<std::string, PlanTimes>;

struct BestPlan {
  std::string plan;
  double seconds = 0;
};
BestPlan best_of_pass(const HindsightPass& pass);  // the least sum of preparation and median of runs
// For each length, the plan with the least sum of these times over all passes of that length.
std::map<int64_t, std::string> best_by_length(std::span<const Pass> passes, std::span<const HindsightPass> hindsight);

struct Regret {
  double played_seconds = 0, ready_seconds = 0;  // the second is a part of the first
  double best_seconds = 0;                       // with the best plan for each length
  double best_of_each_seconds = 0;               // with the best plan for each pass
  double prepared_seconds = 0;                   // best_seconds without preparation
  // Hindsight's times of the plans that the player chose; they include neither choosing nor hiccups. A pass counts as
  // played if hindsight has no times of its plan.
  double taken_seconds = 0;
  int64_t passes = 0, best = 0, within_5_percent = 0;  // passes whose chosen plan was the best, or within 5 % of it
  double ratio() const { return played_seconds / best_seconds; }
  double ratio_to_best_of_each() const { return played_seconds / best_of_each_seconds; }
  double ratio_of_choices() const { return taken_seconds / best_seconds; }
  double ratio_to_prepared() const { return played_seconds / prepared_seconds; }
};

// Which runs decide what plan is the best, and what is charged for the best plan's runs of a pass.
enum class Charged : uint8_t {
  median,  // the medians of all runs decide, and the median is charged, so hiccups are left out
  mean,    // the medians of all runs decide; the mean is charged, which meets hiccups as often as a player's single run
  // Each run is charged to the plan that is the best by the medians of all other runs, and the charges are averaged.
  // Among equally fast plans the one with the quickest runs seems "the best" by these runs themselves. No chooser can
  // know it beforehand; the other runs leave this luck out.
  held_out
};

// The regret of the first `count` passes; the best plans for the lengths come from all passes. All spans have one entry
// for each pass.
Regret regret_of(std::span<const Pass> passes, std::span<const PlayedPass> played,
                 std::span<const HindsightPass> hindsight, size_t count, Charged charged = Charged::median);

// The passes with the most seconds above the best plan for their length, in falling order.
std::vector<size_t> worst_passes(std::span<const Pass> passes, std::span<const PlayedPass> played,
                                 std::span<const HindsightPass> hindsight, size_t count);

}  // namespace tandem::bench
