// Makes the plans that an engine runs. If the choice is open (`auto`, `tensor`), it takes the plan with the
// least predicted time.
//
// A planner tells a strategy which devices there are and how long operators take on them. Nothing runs for a choice.
// Predictions come from the times of earlier passes (engine/run/choice/machine_rates.h), which learn() receives. A
// choice is made again when enough has been learned since.
//
// Beside a card with memory of its own, `auto` trusts only measured passes. The plan `gpu-only` runs first. Another
// plan replaces it if that plan took less time, or is predicted to be far faster than `gpu-only` was.
//
// Contract: Threads: the orchestrator's. Ownership: borrows everything that PlannedModel refers to, and the counts.
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
#include "engine/plan/own_plan.h"
#include "engine/plan/plan.h"
#include "engine/plan/strategy.h"
#include "engine/run/choice/machine_rates.h"
#include "engine/run/pass/executor.h"

namespace tandem {

// The first plan of experts that are copied, if `auto` chooses.
inline constexpr const char* kPlanOfCopies = "hybrimoe";

// The model, buffers and devices that a planner plans for. Borrowed.
struct PlannedModel {
  const Model& model;
  const Activations& activations;
  std::span<const std::unique_ptr<Device>> devices;
  MachineRates& rates;  // of these devices
};

struct PlannerOptions {
  const Strategy* plan = nullptr;         // nullptr: `auto`
  TextOptions text;                       // without a type of activations: f32
  const RoutingCounts* counts = nullptr;  // borrowed: how often experts were chosen; nullptr: the model has none
  ExpertDivider* divider = nullptr;       // borrowed; for plans with near-memory units
  OwnPlanner own{};                       // makes every plan, in the place of the strategies; empty: they make them
};

class Planner {
 public:
  Planner(PlannedModel planned, PlannerOptions options);

  // The plan for a batch that begins at `position`. Its name says which strategy made it.
  Plan plan_for(const Batch& batch, int64_t position);
  // The number of positions before a batch, as far as its plan depends on it; attention grows with it. The number is
  // rounded down, so that a few plans serve every length. Below 256 positions, batches of several sequences are rounded
  // less, because each of their tokens reads a cache of its own.
  int64_t planned_past(const Batch& batch, int64_t position) const;
  // Grows when another plan may have become the best one.
  int64_t version() const { return rates_.version(); }
  // Another plan for the batch, if it is predicted to be faster than this one by a margin that is worth preparing it.
  std::optional<Plan> better_than(const Plan& plan, const Batch& batch, int64_t position);

  Plan make(const Strategy& strategy, const Batch& batch, int64_t position);
  // Predicted costs of operators on the devices, in a pass that begins at `position`.
  PlanCosts costs(int64_t position) const;
  // The time of a pass if its matmuls are shared perfectly and no device waits. No plan is made. It serves to compare
  // lengths of chunks with each other.
  double shared_seconds(const Batch& batch, int64_t position);

  // Learns from a pass of that plan, which took `seconds`. weight: as for MachineRates::learn().
  void learn(const Plan& plan, const Batch& batch, int64_t position, const PassSpans& spans, double seconds,
             double weight);
  // How many times as long a pass takes, but for its experts, if its layers are split between the first GPU and the
  // host as in moe-layer-split. No plan is made.
  double rest_by_layers(const Batch& batch, int64_t position);
  // Whether the planner chooses among plans by predicted times. False: the user's choice of a name decides.
  bool chooses() const;

 private:
  // A strategy with the predicted time of its plan.
  struct Offer {
    const Strategy* strategy;
    double seconds = 0;  // predicted
  };
  using Strategies = std::vector<const Strategy*>;
  // The strategy that was chosen for batches of one kind.
  struct Choice {
    const Strategy* strategy = nullptr;
    int64_t version = 0;    // version() when it was chosen
    double seconds = 0;     // predicted
    Strategies contenders;  // strategies predicted to be about as fast; empty: only some strategies were compared
  };
  using ChoiceKey = std::pair<int64_t, int64_t>;  // length class and planned past
  using Passes =
      std::tuple<std::string, int64_t, int64_t>;  // kind of pass (PassKind::plan), length class, planned past
  std::vector<Operator> operators(const Batch& batch) const;
  std::vector<DeviceTraits> traits() const;
  PassPositions positions_at(int64_t position) const;
  Strategies candidates() const;
  // The strategies that are worth comparing for a choice that was not made yet.
  Strategies worth_comparing(const ChoiceKey& key) const;
  Passes passes_of(std::string_view strategy, const Batch& batch, int64_t past) const;
  // The shortest pass so far of this kind; nothing: none ran.
  std::optional<double> least_seconds(const Strategy& strategy, const Batch& batch, int64_t past) const;
  // Beside a card: the plan on the card alone, or a plan that is worth leaving it for.
  const Strategy& choose_beside_card(std::span<const Operator> operators, const PlanCosts& costs, const Batch& batch,
                                     int64_t past) const;
  // Predicts the time of each strategy's plan. Returns the fastest first, without strategies that are far slower.
  std::vector<Offer> compare(std::span<const Strategy* const> strategies, std::span<const Operator> operators,
                             const PlanCosts& costs, const Batch& batch, int64_t position) const;
  Plan make(const Strategy& strategy, std::span<const Operator> operators, const PlanCosts& costs,
            const Batch& batch) const;
  Plan make_own(const Batch& batch, int64_t past) const;
  void choose_submit(Plan& plan, const Batch& batch) const;
  const Strategy& named(const Batch& batch) const;
  PassKind kind_of(std::string_view strategy, const Batch& batch, int64_t position) const;

  PlannedModel planned_;
  PlannerOptions options_;
  MachineRates& rates_;
  Strategies candidates_;           // strategies to choose from; empty: there is nothing to choose
  const Strategy* card_ = nullptr;  // the plan on a card alone, if `auto` may choose others; else nullptr
  std::map<ChoiceKey, Choice> chosen_;
  double comparing_seconds_ = 1e-3;  // a running mean
  std::map<Passes, double> least_;   // seconds of the shortest pass of each kind, only beside a card
};

// The class of batches of about S tokens, for which one choice of a plan holds. A class is named by its longest batch.
int64_t length_class(int64_t S);

}  // namespace tandem
