// A pass of a shape-only model on a processor profile: the plan that a strategy makes of it, and its run on the model
// clock.
//
// Ownership: owns its buffers, which are address space alone: nothing reads or writes them. Threads: any, one at a
// time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/activations.h"
#include "engine/model/config.h"
#include "engine/model/weights.h"
#include "engine/plan/model_clock/model_clock.h"
#include "engine/plan/model_clock/soc_profile.h"
#include "engine/plan/plan.h"
#include "engine/tensor/packed.h"
#include "sync/pool.h"

namespace tandem {

struct ModelledPass {
  Plan plan;
  ModelRun run;
};

// Of the operators of one pass of `tokens` tokens, behind options.context others; a plan that the strategy makes for
// the profile. Error where the strategy needs other devices than the profile has.
ModelledPass modelled_pass(std::span<const Operator> operators, int64_t tokens, const SocProfile& profile,
                           const std::string& strategy, const ClockOptions& options);

class ShapeModel {
 public:
  // Passes of at most `tokens` tokens, behind at most `positions - tokens` others. separate: see model/shapes.h.
  ShapeModel(const ModelConfig& config, const PackedFormat& format, int64_t tokens, int64_t positions, bool separate);

  const ModelConfig& config() const { return model_.config; }
  std::vector<Operator> operators(int64_t S) const;  // of a pass of S tokens, the last of them with logits
  // S tokens behind options.context others; the last of them gets logits.
  ModelledPass pass(const SocProfile& profile, const std::string& strategy, int64_t S,
                    const ClockOptions& options) const;

 private:
  sync::Pool pool_;
  Model model_;
  Activations activations_;
};

}  // namespace tandem
