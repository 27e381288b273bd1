// The plans of an engine's passes: chosen, prepared on the devices, run, and learned from.
//
// Contract
//   Prepared plans: the last thirty, one for each kind of pass. prepare() makes one, or finds it. If the planner has
//   learned enough since, prepare() compares plans again, and replaces a plan by one that is faster by a margin.
//   Experts that move: prepare() looks at the free memory now and then, if budgets are automatic. When a layer's slots
//   change, all plans are made anew.
//   Devices: release() drops everything that is prepared, before a machine's devices change. rebuild() makes a planner
//   for the present devices. Without a planner, planner() and every call that plans throw an Error.
//   Threads: the orchestrator's. Ownership: borrows the model, the activations and the counts of experts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/activations.h"
#include "engine/graph/decoder.h"
#include "engine/moe/near_memory_sides.h"
#include "engine/plan/strategy.h"
#include "engine/run/choice/pass_times.h"
#include "engine/run/choice/planner.h"
#include "engine/run/choice/plans_ran.h"
#include "engine/run/graph_passes.h"
#include "engine/run/machine/lane_decider.h"
#include "engine/run/machine/loaded_model.h"
#include "engine/run/machine/machine.h"
#include "engine/run/pass/executor.h"
#include "engine/run/pass/lru_cache.h"
#include "tandem/options.h"

namespace tandem {

// Plans that were made and prepared. The time includes comparisons that kept the old plan.
struct Preparations {
  int64_t plans = 0;
  double seconds = 0;
};

class PassPlans {
 public:
  struct Entry {
    Batch batch;
    std::unique_ptr<PreparedPlan> prepared;
    std::unique_ptr<GraphChain> graphs{};  // fragments of the plan, if it runs in graphs of --npu-memory
    int64_t version = 0;                   // Planner::version() when the plan was made, or was last compared and kept
    bool ran = false;
  };

  // options: with a type of activations. asked: nullptr for `auto`. counts: how often experts were chosen; nullptr: the
  // model has none. Nothing is prepared before rebuild().
  PassPlans(const LoadedModel& model, const Activations& activations, TextOptions options, const Strategy* asked,
            const RoutingCounts* counts);

  void rebuild();
  // Makes all kernels that a GPU needs for these batches, whatever their plans, and compiles missing ones.
  void prepare_kernels(std::span<const Batch> batches) const;
  void probe_devices();  // takes a first look at devices that have no samples, if plans are chosen
  void release() noexcept;
  Planner& planner() const;
  // Later passes have plans of this function; empty: those of the strategies again. It is called on the orchestrator
  // for each new kind of pass, and what it throws ends that pass. Error: experts of the model move.
  void plan_by(OwnPlanner planner);

  // The prepared plan for this kind of pass. The reference is valid until plans are prepared or dropped again.
  Entry& prepare(const Batch& batch, int64_t position);
  // Runs a pass whose inputs are in their buffers. position: the largest one at which a run of tokens begins. Some
  // passes are measured, and the planner learns from them.
  void run(Entry& entry, int64_t position);
  void drop_plans_with_experts();

  // The chunks of a prompt of `total` tokens that begins at `begin` (engine/plan/partition/chunk_cutting.h). Only the
  // last one gets logits. The cut of the last prompt is kept, so passes have the chunks that were prepared for them.
  std::vector<Batch> chunks_of(int64_t begin, int64_t total);

  // The work of near-memory units and of the GPU beside them. nullptr: the plan has no units, or the model no experts.
  const NearMemorySides* sides() const { return sides_.get(); }
  GraphPasses* graphs() { return graphs_.get(); }  // nullptr: without --npu-memory

  std::vector<Operator> operators_for(const Batch& batch) const;
  size_t size() const { return prepared_.size(); }  // prepared plans
  const Preparations& preparations() const { return preparations_; }
  // Graphs that the NPU compiled in all passes, because it had none for their number of tokens.
  const GraphCompiles& online_compiles() const { return online_compiles_; }
  PassTimes& times() { return times_; }  // of passes with drafts (M4)
  PlansRan& ran() { return ran_; }
  const PlansRan& ran() const { return ran_; }
  // The plan that the user asked for, with the plans that ran if they differ: "tensor", "auto: prefill sequence,
  // decode rows".
  std::string name() const { return describe_plans(options_.plan, ran_.list()); }

 private:
  // The key of a prepared plan: the batch, and Planner::planned_past() of its position.
  struct Key {
    Batch batch;
    int64_t past = 0;
    bool operator==(const Key&) const = default;
  };
  // The plan of a prepared entry that differs in its buffer of logits alone, rebound; nothing: there is none.
  std::optional<Entry> for_other_logits(const Key& key);
  bool is_measured(Entry& entry);
  RunsGraphs graph_devices(const Plan& plan) const;
  int64_t chunks_behind(const Batch& batch, int64_t position) const;
  void run_in_graphs(Entry& entry, int64_t position);
  void run_whole(Entry& entry, int64_t position);
  double run_measured(Entry& entry, int64_t position);
  LaneDecider* lanes() const;  // nullptr: experts are not copied
  Batch with_link(Batch batch) const;
  bool divides_experts(const Batch& batch) const;
  int64_t most_prefetch(int64_t tokens) const;
  void fit_experts(int64_t tokens);
  const Strategy& strategy_of(std::string_view name) const;
  double rest_by_layers(const Entry& entry, int64_t position);
  PassTimes new_times();

  const LoadedModel& model_;
  Machine& machine_;
  const Activations& activations_;
  const TextOptions options_;
  const Strategy* const asked_;
  OwnPlanner own_;  // empty: strategies make the plans
  const RoutingCounts* const counts_;
  std::unique_ptr<Planner> planner_;
  LruCache<Key, Entry> prepared_;
  std::map<std::pair<int64_t, std::string>, int64_t> passes_;  // passes so far, by length class and plan
  struct RestByLayers {
    int64_t version = -1;  // Planner::version() when it was computed
    double factor = 1;     // Planner::rest_by_layers()
  };
  std::map<int64_t, RestByLayers> rest_by_layers_;     // by length class
  mutable const Strategy* latest_strategy_ = nullptr;  // that strategy_of() found last
  int64_t tokens_since_look_ = 0, slots_version_ = 0;  // of experts that move
  bool first_pass_ = true;
  struct Chunks {
    int64_t position = -1, total = 0;  // where the prompt begins, and how many tokens it has
    std::vector<int64_t> lengths;
  } chunks_;  // how the last prompt is cut
  GraphCompiles online_compiles_;
  Preparations preparations_;
  PassTimes times_;
  PlansRan ran_;
  std::unique_ptr<GraphPasses> graphs_;
  std::unique_ptr<NearMemorySides> sides_;
};

}  // namespace tandem
