// Y1, Y2, Y4: decides for each layer of a pass who computes which expert, and which copied experts get slots.
//
// The costs begin with a rough rate of memory and follow measured passes (learn()). The policy of each layer says which
// expert leaves a slot. A prompt keeps nothing of what it copies, so that the text behind it finds its experts.
//
// Contract: decide() and kept() run on device threads while a pass runs; kept() of one layer ends before the next
// pass decides about that layer. Other methods are called while no pass runs. Ownership: borrows the residents.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/moe/cost_law.h"
#include "engine/moe/expert_policy.h"
#include "engine/moe/lane_decision.h"
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
  double expected_seconds = 0;  // of the experts, by the schedules
};

// Measured seconds of the lanes in one pass.
struct LaneSeconds {
  double gpu = 0, host = 0, link = 0;
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
  };

  LaneDecider(std::vector<Layer> layers, Costs costs) : layers_(std::move(layers)), costs_(std::move(costs)) {}

  void decide(const LaneRequest& request, const LaneTables& tables) override;
  void kept(int64_t layer, int32_t expert, int32_t slot) override;

  // Learns from the last measured pass. begin_pass() comes before that pass.
  void begin_pass() { pass_ = {}; }
  void learn(const LaneSeconds& seconds);

  ExpertCosts costs() const;
  const LaneTotals& of_text() const { return of_text_; }
  const LaneTotals& of_prompts() const { return of_prompts_; }

 private:
  Layer& layer_of(int64_t layer);
  static void keep(Layer& layer, const LaneDecision& decision, std::span<const int64_t> loads,
                   const LaneRequest& request, const LaneTables& tables);
  void count(const LaneDecision& decision, std::span<const int64_t> loads, LaneTotals& totals) const;

  std::vector<Layer> layers_;
  Costs costs_;
  LaneTotals of_text_, of_prompts_, pass_;
  std::mutex mutex_;  // protects the residents, whom two threads change
};

}  // namespace tandem
