// What choosing plans has cost: the passes as they were played, beside the best plan that could have been taken.
//
// Contract: pure. Seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench/regret/passes.h"

namespace tandem::bench {

// A pass as the chooser played it: once, as users' passes come.
struct PlayedPass {
  std::string plan;          // that it took
  double ready_seconds = 0;  // choosing and preparing the plan
  double run_seconds = 0;
  double seconds() const { return ready_seconds + run_seconds; }
};

// The same pass by a plan that could have been taken. Who knows it beforehand need not choose, but has to prepare it
// where that was not done for an earlier pass; then it ran some times.
struct PlanTimes {
  std::vector<double> run_seconds;
  double ready_seconds = 0;
};
using HindsightPass = std::map<std::string, PlanTimes>;

struct BestPlan {
  std::string plan;
  double seconds = 0;
};
BestPlan best_of_pass(const HindsightPass& pass);  // the least of what preparing takes and the median of runs
// For each length the plan with the least sum of these over all passes of that length.
std::map<int64_t, std::string> best_by_length(std::span<const Pass> passes, std::span<const HindsightPass> hindsight);

struct Regret {
  double played_seconds = 0, ready_seconds = 0;  // the second is a part of the first
  double best_seconds = 0;                       // of the best plan for each length
  double best_of_each_seconds = 0;               // of the best plan for each pass
  double prepared_seconds = 0;                   // of best_seconds without preparing
  // What the plans that were taken need in hindsight: neither choosing nor a hiccup is in it. Passes whose plan
  // hindsight has no times of count as played.
  double taken_seconds = 0;
  int64_t passes = 0, best = 0, within_5_percent = 0;  // how often the plan taken was the best of its pass, or as good
  double ratio() const { return played_seconds / best_seconds; }
  double ratio_to_best_of_each() const { return played_seconds / best_of_each_seconds; }
  double ratio_of_choices() const { return taken_seconds / best_seconds; }
  double ratio_to_prepared() const { return played_seconds / prepared_seconds; }
};

// What is charged for the best plan's runs of a pass, and which runs say that it is the best.
enum class Charged : uint8_t {
  median,  // all runs say it by their medians, and that is charged: hiccups are left out
  mean,    // all runs say it by their medians; with their mean a plan meets hiccups as often as a player's single run
  // Each run is charged to the plan that is the best by the medians of all others, and that is averaged. Of plans that
  // are as fast as each other the one whose runs happened to be the quickest is "the best" by the runs themselves, and
  // nobody who chooses beforehand can take it; by other runs that luck is left out.
  held_out
};

// Of the first `count` passes, by the best plans for the lengths of all of them. All spans have one entry for each
// pass.
Regret regret_of(std::span<const Pass> passes, std::span<const PlayedPass> played,
                 std::span<const HindsightPass> hindsight, size_t count, Charged charged = Charged::median);

// The passes with the most seconds above the best plan for their length, most first.
std::vector<size_t> worst_passes(std::span<const Pass> passes, std::span<const PlayedPass> played,
                                 std::span<const HindsightPass> hindsight, size_t count);

}  // namespace tandem::bench
