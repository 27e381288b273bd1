// A chip's model clock for a command: the profile of --soc, a model as shapes, the plan asked for. All modelled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/app/common_flags.h"
#include "engine/model/gguf.h"
#include "engine/moe/calibration.h"
#include "engine/plan/model_clock/modelled_pass.h"
#include "engine/plan/model_clock/soc_profile.h"

namespace tandem::app {

struct SocRequest {
  std::string soc;    // name or file
  std::string shape;  // published model, .json or .gguf file
  StorageType weights = StorageType::q4_0;
  std::string plan = "auto";  // auto: tensor, which contains the others
  int64_t tokens = 1;         // most tokens of a pass
  int64_t positions = 1;      // most tokens in the context
  // For plans that put experts on the NPU.
  ExpertRules experts{};
  std::optional<RoutingCounts> counts{};
  ActType act = ActType::f16;
};
// What was counted of experts, by --calibration; absent: the flag was not given.
std::optional<Calibration> calibration_of(const CommonFlags& flags);
// Of the flags --soc, --plan, --act, --calibration and --moe-*.
SocRequest soc_request(const CommonFlags& flags, std::string shape, StorageType weights, int64_t tokens,
                       int64_t positions);

class SocClock {
 public:
  explicit SocClock(const SocRequest& request);  // Error: unknown profile, shape or plan

  const SocProfile& profile() const { return profile_; }
  const ModelConfig& config() const { return model_.config(); }
  const std::string& strategy() const { return strategy_; }
  ModelledPass pass(int64_t S, const ClockOptions& options) const {
    return model_.pass(profile_, strategy_, S, options);
  }
  // Seconds and joules of S tokens behind `position` others in one pass, and of `count` single tokens in turn, each as
  // the one in their middle.
  struct Figures {
    double seconds = 0, joules = 0;
  };
  Figures prompt(int64_t S, int64_t position) const;
  Figures tokens(int64_t count, int64_t position) const;

 private:
  SocProfile profile_;
  std::string strategy_;
  ShapeModel model_;
};

StorageType usual_type(const GgufFile& file);  // of most bytes of its matrices

}  // namespace tandem::app
