// Y1, Y2, Y4: decides for each layer of a pass who computes which expert, and which copied experts get slots.
//
// The costs begin with a rough rate of memory and follow measured passes (learn()). The policy of each layer says which
// expert leaves a slot. A prompt keeps nothing of what it copies, so that the text behind it finds its experts.
//
// Contract: decide() and kept() run on device threads while a pass runs; kept() of one layer ends before the next
// pass decides about that layer. Other methods are called while no pass runs. Ownership: borrows the residents.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/moe/cost_law.h"
#include "engine/moe/expert_policy.h"
#include "engine/moe/lane_decision.h"
#include "engine/moe/link_choice.h"
#include "engine/moe/resident_experts.h"
#include "engine/tensor/expert_lanes.h"

namespace tandem {

// Sums over passes of one kind: prompts, or text.
struct LaneTotals {
  int64_t decisions = 0;
  int64_t choices = 0, in_slots = 0, landed = 0, on_host = 0;  // pairs of a token and an expert
  int64_t slot_experts = 0, landed_experts = 0, host_experts = 0;
  int64_t kept = 0;  // copied experts that got slots
  double deciding_seconds = 0;
  double expected_seconds = 0;                       // of the experts, by the schedules
  ExpectedExperts expected;                          // the same with the link and without it, if the plan may choose
  int64_t passes_with_link = 0, passes_without = 0;  // if the plan may choose
};

// Measured seconds of the lanes in one pass. hand_over: from the decision of a layer to the link's beginning, the mean
// over layers; 0: no layer shows it.
struct LaneSeconds {
  double gpu = 0, host = 0, link = 0;
  double hand_over = 0;
};

class LaneDecider final : public ExpertLanes {
 public:
  // A layer of the model, and the experts in its slots.
  struct Layer {
    int64_t layer = 0;
    ResidentExperts* residents = nullptr;
    std::unique_ptr<ExpertPolicy> policy;
    int64_t tokens = 0;  // that the policy has seen
  };
  struct Costs {
    CostLaw gpu, host, link;
    double hand_over = 0;  // to the link, in seconds
  };

  LaneDecider(std::vector<Layer> layers, Costs costs);

  void decide(const LaneRequest& request, const LaneTables& tables) override;
  void kept(int64_t layer, int32_t expert, int32_t slot) override;

  // Learns from the last measured pass. begin_pass() comes before that pass.
  void begin_pass() { pass_ = {}; }
  void learn(const LaneSeconds& seconds);

  // Y1: whether the next pass of so many tokens hands copies to the link, if its plan may choose.
  bool uses_link(int64_t tokens, int64_t used);
  // Such a pass ended. used: experts of a token. with_link: how it ran.
  void took(int64_t tokens, int64_t used, bool with_link, double seconds);

  const ExpertCosts& costs() const { return divisions_.costs(); }
  const LaneTotals& of_text() const { return of_text_; }
  const LaneTotals& of_prompts() const { return of_prompts_; }

 private:
  Layer& layer_of(int64_t layer);
  ExpertCosts expert_costs() const;
  void take_tokens(Layer& layer, const LaneRequest& request);
  const LaneDivision& division(const LaneRequest& request, const ScheduleRule* rule);
  void keep(Layer& layer, const LaneRequest& request, const LaneTables& tables);
  void count(const LaneDivision& division, LaneTotals& totals) const;
  LinkChoice& link_of(int64_t tokens, int64_t used);
  ExpectedExperts expected_of_even_loads(int64_t tokens, int64_t used) const;

  std::vector<Layer> layers_;
  Costs costs_;
  LaneDivisions divisions_;
  std::map<int, LinkChoice> links_;  // by length class: 0 is text
  LaneTotals of_text_, of_prompts_, pass_;
  std::mutex mutex_;  // protects the residents, whom two threads change
  // Of the present decision; kept, so that none of them allocates memory.
  std::vector<int64_t> loads_;
  ActiveExperts active_;
  LaneDecision decision_;
  std::vector<int32_t> token_ids_, empty_, may_leave_;
  std::vector<float> token_weights_;
};

}  // namespace tandem
