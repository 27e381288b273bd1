// Plans a pass of a shape-only model for a processor profile, and runs the plan on the model clock.
//
// Contract: Ownership: a ShapeModel owns its buffers. They are address space alone; nothing reads or writes them.
// Threads: any, one at a time.
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

// Further input for strategies that put experts on the NPU (NPUMoE), like ExpertRequest in a plan's request.
struct ModelledExperts {
  ExpertRules rules;
  std::optional<RoutingCounts> counts;  // choices that were counted; absent: all experts are equally likely
  int64_t rows = 0;                     // rows of the experts' buffers; 0: experts stay off the NPU
};

// The experts' input for passes of at most `tokens` tokens. It has rows only if the strategy puts experts on the NPU
// and the model has some. The rules' capacities are whole graphs of the profile, which has fewer sizes than the engine
// itself. A plan notes if the NPU has no such graph. Error: counts of other experts than the model's, or rules that
// check_rules() refuses.
ModelledExperts experts_for(const std::string& strategy, const ModelConfig& config, const SocProfile& profile,
                            int64_t tokens, const ExpertRules& rules, std::optional<RoutingCounts> counts);

// Makes the strategy's plan for the operators of one pass and runs it. The pass has `tokens` tokens behind
// options.context others. Error if the strategy needs devices that the profile does not have.
ModelledPass modelled_pass(std::span<const Operator> operators, int64_t tokens, const SocProfile& profile,
                           const std::string& strategy, const ClockOptions& options,
                           const ExpertRequest* experts = nullptr);

class ShapeModel {
 public:
  // For passes of at most `tokens` tokens, behind at most `positions - tokens` others. separate: see
  // engine/model/shapes.h. experts: from experts_for() for the strategy of the passes. act: number format of matmul
  // inputs; the clock knows i8, and takes f16 for all others.
  ShapeModel(const ModelConfig& config, const PackedFormat& format, int64_t tokens, int64_t positions, bool separate,
             ModelledExperts experts = {}, ActType act = ActType::f16);

  const ModelConfig& config() const { return model_.config; }
  std::vector<Operator> operators(int64_t S) const;  // of a pass of S tokens; the last one gets logits
  // A pass of S tokens behind options.context others; the last one gets logits.
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
