// Makes the plans that an engine runs: tells a strategy what devices take and how long things last, and where the
// choice is open (`auto`, `tensor`) takes the plan with the least predicted time.
//
// Nothing is run to find that out: predictions come from what earlier passes took (engine/run/machine_rates.h), and
// learn() is told of each. A choice is made anew when enough was learnt since. Beside a card with memory of its own,
// `auto` trusts passes alone: `gpu-only` runs first, and is left for a plan that is predicted to be far faster than
// what it took, or took less itself. Threads: the orchestrator's. Ownership:
// borrows everything it is made from.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/registry.h"
#include "engine/graph/activations.h"
#include "engine/graph/decoder.h"
#include "engine/model/weights.h"
#include "engine/plan/plan.h"
#include "engine/plan/strategy.h"
#include "engine/run/executor.h"
#include "engine/run/machine_rates.h"

namespace tandem {

// What a planner works on.
struct PlannedModel {
  const Model& model;
  const Activations& activations;
  std::span<const std::unique_ptr<Device>> devices;
  MachineRates& rates;  // of these devices
};

struct PlannerOptions {
  const Strategy* plan = nullptr;  // nullptr: `auto`
  std::vector<double> split;       // as EngineOptions::split
  ActType act = ActType::f32;
  bool strict = false;
  bool tries = true;  // false: a plan that may give way does not, whatever else would be faster (tests)
  std::vector<int64_t> graph_tokens;
  Submit submit = Submit::ahead;          // as EngineOptions::submit
  ExpertRules experts;                    // of plans that put experts on the NPU
  const RoutingCounts* counts = nullptr;  // borrowed: how often experts were chosen; nullptr: the model has none
};

class Planner {
 public:
  Planner(PlannedModel planned, PlannerOptions options);

  // The plan for a batch that begins at `position`, and which strategy made it.
  Plan plan_for(const Batch& batch, int64_t position);
  // Positions before a batch as far as its plan depends on them (attention grows with them): rounded down, so that a
  // few plans serve every length. Less far of several sequences: each of their tokens reads a cache of its own.
  int64_t planned_past(const Batch& batch, int64_t position) const;
  // Goes up when plans may have to be made anew.
  int64_t version() const { return rates_.version(); }
  // Whether another plan than this one for the batch is by far enough the better one to be prepared.
  std::optional<Plan> better_than(const Plan& plan, const Batch& batch, int64_t position);

  Plan make(const Strategy& strategy, const Batch& batch, int64_t position);
  // What this batch's operators are predicted to cost on the devices.
  PlanCosts costs(const Batch& batch, int64_t position);
  // How long a pass takes if its matmuls are shared perfectly and nothing waits: no plan is made for it. To compare
  // lengths with each other.
  double shared_seconds(const Batch& batch, int64_t position);

  // A pass of that plan took so long; its positions are still in their buffer. weight: as MachineRates::learn().
  void learn(const Plan& plan, const Batch& batch, int64_t position, const PassSpans& spans, double seconds,
             double weight);
  // Whether plans are chosen by what devices are predicted to take, and not by their name alone.
  bool chooses() const;

 private:
  struct Offer {
    const Strategy* strategy;
    double seconds = 0;  // predicted
  };
  using Strategies = std::vector<const Strategy*>;
  struct Choice {
    const Strategy* strategy = nullptr;
    int64_t version = 0;
    double seconds = 0;     // predicted
    Strategies contenders;  // of all those predicted to be about as fast; empty: not all were compared
  };
  using ChoiceKey = std::pair<int64_t, int64_t>;             // length class and planned past
  using Passes = std::tuple<std::string, int64_t, int64_t>;  // of a kind (PassKind::plan), likewise
  std::vector<Operator> operators(const Batch& batch) const;
  std::vector<DeviceTraits> traits() const;
  Strategies candidates() const;
  // Those worth comparing for a choice that was not made yet.
  Strategies worth_comparing(const ChoiceKey& key) const;
  Passes passes_of(std::string_view strategy, const Batch& batch, int64_t past) const;
  std::optional<double> least_seconds(const Strategy& strategy, const Batch& batch, int64_t past) const;
  // Beside a card: its own plan, or one that is worth leaving it for.
  const Strategy& choose_beside_card(std::span<const Operator> operators, const PlanCosts& costs, const Batch& batch,
                                     int64_t past) const;
  // The fastest first; what is far behind is left out.
  std::vector<Offer> compare(std::span<const Strategy* const> strategies, std::span<const Operator> operators,
                             const PlanCosts& costs, const Batch& batch, int64_t position) const;
  Plan make(const Strategy& strategy, std::span<const Operator> operators, const PlanCosts& costs,
            const Batch& batch) const;
  PassKind kind_of(std::string_view strategy, const Batch& batch, int64_t position) const;

  PlannedModel planned_;
  PlannerOptions options_;
  MachineRates& rates_;
  Strategies candidates_;           // empty: what was asked for runs, or there is one
  const Strategy* card_ = nullptr;  // the plan on a card alone, where `auto` has others beside it
  std::map<ChoiceKey, Choice> chosen_;
  std::map<Passes, double> least_;  // seconds of the shortest pass of a kind, beside a card
};

// Lengths of batches that a choice holds for, named by the longest one.
int64_t length_class(int64_t S);

}  // namespace tandem
