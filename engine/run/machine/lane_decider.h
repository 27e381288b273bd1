// Y1, Y2, Y4: decides for each layer of a pass who computes which expert, and which copied experts get slots.
//
// The costs begin with a rough rate of memory and follow measured passes (learn()). The policy of each layer says which
// expert leaves a slot. A prompt keeps nothing of what it copies, so that the text behind it finds its experts.
//
// Y3: the link asks which guessed expert of a later layer it may copy ahead (engine/moe/prefetch_choice.h). A copy
// begins only if the next decision is expected later than its end. It takes the place of an expert that is not guessed.
// The next decision, whichever layer it is of, ends all copies ahead: the copies that it asks for come first.
//
// Y6: the host's memory may hold some of the experts alone (HostTier). A decision then first reads the chosen experts
// that neither a slot nor the host's memory has. The link copies ahead only what the host's memory holds.
//
// Contract: decide() and kept() run on device threads while a pass runs; kept() of one layer ends before the next
// pass decides about that layer. Other methods are called while no pass runs. Ownership: borrows the residents and the
// host's memory. Errors of decide(): those of HostTier::bring().
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/moe/cost_law.h"
#include "engine/moe/expert_policy.h"
#include "engine/moe/lane_decision.h"
#include "engine/moe/link_choice.h"
#include "engine/moe/resident_experts.h"
#include "engine/run/machine/host_tier.h"
#include "engine/run/machine/lane_plans.h"
#include "engine/tensor/expert_lanes.h"

namespace tandem {

// Measured seconds of the lanes in one pass. experts: from the decisions of layers to their sums. stalls: other lanes
// waited for copies alone. hand_over: from the decision of a layer to the link's beginning, the mean over layers; 0: no
// layer shows it.
struct LaneSeconds {
  double gpu = 0, host = 0, link = 0;
  double experts = 0, stalls = 0;
  double hand_over = 0;
};

// How a pass ran. chooses_link, chooses_prefetch: its plan may do either way. prefetch: layers ahead whose experts were
// guessed, of at most most_prefetch. plan: if `auto` chose it, else empty. rest_by_layers: as in LanePlans::Pass.
struct LanePass {
  int64_t tokens = 0, used = 0;  // used: experts of a token
  bool chooses_link = false, with_link = false;
  bool chooses_prefetch = false;
  int64_t prefetch = 0, most_prefetch = 1;
  std::string_view plan{};
  double rest_by_layers = 1;
};

// Sums over passes of one kind: prompts, or text.
struct LaneTotals {
  int64_t decisions = 0;
  int64_t choices = 0, in_slots = 0, landed = 0, on_host = 0;  // pairs of a token and an expert
  int64_t slot_experts = 0, landed_experts = 0, host_experts = 0;
  int64_t ahead_experts = 0;  // of the landed ones: they were copied before the decision
  int64_t kept = 0;           // experts that got slots, but for those copied ahead
  int64_t evictions = 0;
  double deciding_seconds = 0;
  double expected_seconds = 0;                       // of the experts, by the schedules
  ExpectedExperts expected;                          // the same with the link and without it, if the plan may choose
  int64_t passes_with_link = 0, passes_without = 0;  // if the plan may choose
  // Y3: bytes that were copied ahead. useful: of experts that were then chosen. late: of copies that a decision
  // stopped. wasted: of all others.
  int64_t passes_with_prefetch = 0, passes_with_deep_prefetch = 0;  // deep: more than one layer ahead
  uint64_t useful_bytes = 0, late_bytes = 0, wasted_bytes = 0;
  // Of the passes that were measured: the seconds of their lanes, and those that the schedules expected of them.
  int64_t measured_passes = 0;
  LaneSeconds measured;
  double measured_expected = 0;
};

class LaneDecider final : public ExpertLanes {
 public:
  // A layer of the model, and the experts in its slots.
  struct Layer {
    int64_t layer = 0;
    ResidentExperts* residents = nullptr;
    std::unique_ptr<ExpertPolicy> policy;  // nullptr: no expert leaves its slot
    int64_t places = 0;                    // of the landing for copies ahead of prompts
    int64_t tokens = 0;                    // that the policy has seen
    // Y3. The guesses of a layer hold until the next decision.
    double guess_began = 0;  // when the link began with guesses of this layer; 0: it did not
    // Seconds from there to the next decision, a running mean, of prompts and of text; -1: unknown.
    std::array<double, 2> window{-1, -1};
    int64_t guessed_by = -1;  // the layer whose guess of this one was asked for last
    // Experts of this pass that were copied ahead. of_prompt: they lie on the landing, in this order.
    std::vector<int32_t> ahead{};
    bool of_prompt = false;
    uint64_t ahead_bytes = 0;  // of each of them
    // Y6, by slot: the expert that left it in this pass, and whose weights are still in it; -1: none.
    std::vector<int32_t> leaving{};
  };
  struct Costs {
    CostLaw gpu, host, link;
    double hand_over = 0;  // to the link, in seconds
  };

  // host: the memory of experts without a slot, by layers as here; nullptr: it holds all experts.
  LaneDecider(std::vector<Layer> layers, Costs costs, HostTier* host = nullptr);

  void decide(const LaneRequest& request, const LaneTables& tables) override;
  void kept(int64_t layer, int32_t expert, int32_t slot) override;
  std::byte* take_back(int64_t layer, int32_t slot) override;
  std::optional<CopyAhead> next_ahead(const GuessRequest& guess) override;
  bool may_go_on(int64_t next) const override;
  void copied_ahead(int64_t next, const CopyAhead& copy, size_t done_bytes, size_t bytes) override;

  // Learns from the last measured pass of so many tokens, which took `seconds`. begin_pass() comes before that pass.
  // is_text: whether the pass counts as text in the totals; without it passes of few tokens do.
  void begin_pass(std::optional<bool> is_text = std::nullopt);
  void learn(const LaneSeconds& lanes, int64_t tokens, double seconds);

  LanePlans& plans() { return plans_; }  // C10: among which `auto` chooses; closed without choose_among()
  const LanePlans& plans() const { return plans_; }

  // Y1: whether the next pass of so many tokens hands copies to the link, if its plan may choose.
  bool uses_link(int64_t tokens, int64_t used);
  // Y3: how many layers ahead the next pass of so many tokens guesses for copies, at most `most`; 0: it copies nothing
  // ahead. chooses_link: its plan may leave the link; experts are then copied ahead once the link has won.
  int64_t prefetches(int64_t tokens, bool chooses_link, int64_t most) const;
  void took(const LanePass& pass, double seconds);

  const ExpertCosts& costs() const { return divisions_.costs(); }
  const LaneTotals& of_text() const { return of_text_; }
  const LaneTotals& of_prompts() const { return of_prompts_; }

 private:
  // any: whether experts are copied ahead. deep: whether text looks further than one layer.
  struct PrefetchChoices {
    LinkChoice any, deep;
  };
  Layer& layer_of(int64_t layer);
  bool holds_guess_of(int64_t layer) const { return layer >= 0 && layer == decided_; }
  bool is_guessed(int64_t next) const;
  void leave_out_absent(int64_t of_layer, std::span<int64_t> loads);
  ExpertCosts expert_costs() const;
  void take_tokens(Layer& layer, const LaneRequest& request);
  const LaneDivision& division(const LaneRequest& request, const ScheduleRule* rule);
  void end_guess(Layer& layer);
  size_t index_of(const Layer& layer) const { return static_cast<size_t>(&layer - layers_.data()); }
  void find_cached(Layer& layer, bool ahead);
  void bring(const Layer& layer, bool of_text);
  void compute_where_they_are(const Layer& layer, std::span<const int32_t> slot_of);
  void keep(Layer& layer, const LaneRequest& request, const LaneTables& tables);
  void insert(Layer& layer, std::span<int32_t> table);
  void find_free_slots(const Layer& layer, std::span<const int64_t> loads);
  std::optional<int32_t> take_slot(Layer& layer);
  void note_leaving(Layer& layer, int32_t slot, int32_t expert) const;
  bool tries_variant(const LanePass& pass);
  void choose_link(const LanePass& pass, double seconds);
  void choose_prefetch(const LanePass& pass, double seconds);
  void count(const LaneDivision& division, LaneTotals& totals) const;
  LinkChoice& link_of(int64_t tokens, int64_t used);
  PrefetchChoices& prefetch_of(const LanePass& pass);
  bool link_has_won(int64_t tokens) const;
  LaneTotals& totals_of(const Layer& ahead) { return ahead.of_prompt ? of_prompts_ : of_text_; }
  bool counts_as_text(int64_t tokens) const { return counts_as_text_.value_or(is_text_pass(tokens)); }
  ExpectedExperts expected_of_even_loads(int64_t tokens, int64_t used) const;

  std::vector<Layer> layers_;
  HostTier* const host_;
  Costs costs_;
  LaneDivisions divisions_;
  std::map<int, LinkChoice> links_;  // by length class: 0 is text
  // For passes that use the link: by length class, and whether the plan may leave the link.
  std::map<std::pair<int, bool>, PrefetchChoices> prefetch_;
  LanePlans plans_;
  std::vector<bool> on_gpu_;  // by index in layers_: with all of its experts, if layers were split
  LaneTotals of_text_, of_prompts_, pass_;
  std::optional<bool> counts_as_text_;  // of the present pass
  bool pass_is_text_ = false;           // the last decision's pass
  int64_t decided_ = -1;                // the layer that was decided last
  mutable std::mutex mutex_;            // protects layers and totals, which two threads change
  // Of the present decision; kept, so that none of them allocates memory.
  std::vector<int64_t> loads_;
  ActiveExperts active_;
  LaneDecision decision_;
  std::vector<int32_t> token_ids_, empty_, may_leave_, cached_at_, ahead_at_, needed_;
  std::vector<float> token_weights_;
};

}  // namespace tandem
