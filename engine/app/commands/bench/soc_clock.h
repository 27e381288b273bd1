// A chip's model clock for a command: the profile of --soc, a model as shapes, and a plan. All times are modelled.
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
  std::string plan = "auto";  // auto: tensor, whose choices include the others
  int64_t tokens = 1;         // most tokens of a pass
  int64_t positions = 1;      // most tokens in the context
  // For plans that put experts on the NPU.
  ExpertRules experts{};
  std::optional<RoutingCounts> counts{};
  ActType act = ActType::f16;
};
// The counts of experts from --calibration; absent without the flag.
std::optional<Calibration> calibration_of(const CommonFlags& flags);
// The request that the flags --soc, --plan, --act, --calibration and --moe-* describe.
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
  // Seconds and joules. prompt(): S tokens in one pass, after `position` others. tokens(): `count` single tokens in
  // turn, each priced like the one in the middle.
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

StorageType usual_type(const GgufFile& file);  // the type with most bytes among the file's matrices

}  // namespace tandem::app
