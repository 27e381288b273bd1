// A pass of a shape-only model on a processor profile: the plan that a strategy makes of it, and its run on the model
// clock.
//
// Ownership: owns its buffers, which are address space alone: nothing reads or writes them. Threads: any, one at a
// time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/activations.h"
#include "engine/model/config.h"
#include "engine/model/weights.h"
#include "engine/moe/expert_placement.h"
#include "engine/plan/model_clock/model_clock.h"
#include "engine/plan/model_clock/soc_profile.h"
#include "engine/plan/plan.h"
#include "engine/tensor/activation.h"
#include "engine/tensor/packed.h"
#include "sync/pool.h"

namespace tandem {

struct ModelledPass {
  Plan plan;
  ModelRun run;
};

// What strategies that put experts on the NPU are told on the clock (NPUMoE, engine/plan/plan_request.h).
struct ModelledExperts {
  ExpertRules rules;
  std::optional<RoutingCounts> counts;  // what was counted; absent: every expert is as likely as the others
  int64_t rows = 0;                     // that their buffers have; 0: experts stay off the NPU
};

// Of a strategy's passes of at most `tokens` tokens: rows where it puts the model's experts on the NPU, and rules whose
// capacities are whole graphs of the profile, which has fewer sizes than the engine's own. An NPU that runs none of
// them is noted in the plan. Error: counts of other experts than the model's, rules that check_rules() refuses.
ModelledExperts experts_for(const std::string& strategy, const ModelConfig& config, const SocProfile& profile,
                            int64_t tokens, const ExpertRules& rules, std::optional<RoutingCounts> counts);

// Of the operators of one pass of `tokens` tokens, behind options.context others; a plan that the strategy makes for
// the profile. Error where the strategy needs other devices than the profile has.
ModelledPass modelled_pass(std::span<const Operator> operators, int64_t tokens, const SocProfile& profile,
                           const std::string& strategy, const ClockOptions& options,
                           const ExpertRequest* experts = nullptr);

class ShapeModel {
 public:
  // Passes of at most `tokens` tokens, behind at most `positions - tokens` others. separate: see model/shapes.h.
  // experts: for passes by the strategy that they were made for. act: of matmuls' inputs; the clock knows i8, and f16
  // for everything else.
  ShapeModel(const ModelConfig& config, const PackedFormat& format, int64_t tokens, int64_t positions, bool separate,
             ModelledExperts experts = {}, ActType act = ActType::f16);

  const ModelConfig& config() const { return model_.config; }
  std::vector<Operator> operators(int64_t S) const;  // of a pass of S tokens, the last of them with logits
  // S tokens behind options.context others; the last of them gets logits.
  ModelledPass pass(const SocProfile& profile, const std::string& strategy, int64_t S,
                    const ClockOptions& options) const;

 private:
  sync::Pool pool_;
  ModelledExperts experts_;
  Model model_;
  Activations activations_;
  ActType act_;
};

}  // namespace tandem
