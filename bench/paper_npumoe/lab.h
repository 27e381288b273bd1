// The NPUMoE paper's settings on the model clock: the model, the engine, the prompt and the chunk, and the result.
//
// Contract: everything is modelled. Models are shapes (engine/model/shapes.h). Their routing is drawn at random
//   (engine/moe/routing_model.h): rooms are planned on one set of chunks and judged on another. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/moe/expert_prefill.h"
#include "engine/moe/routing_model.h"
#include "engine/plan/model_clock/soc_profile.h"

namespace tandem::paper_npumoe {

inline constexpr const char* kPhi = "phi-3.5-moe";
inline constexpr const char* kTiny = "phi-tiny-moe";
inline constexpr const char* kQwen = "qwen3-30b-a3b";

struct Setting {
  std::string model;
  int64_t prompt = 0, chunk = 0;  // P, C
  auto operator<=>(const Setting&) const = default;
};
// The four settings with printed numbers.
std::vector<Setting> printed_settings(const char* model);

// The routing of a model, planned on some chunks and judged on others; each chunk has B = 256 tokens.
struct Routing {
  MixtureShape shape;
  RoutingCounts planned;                            // sum over the planning chunks
  std::vector<RoutingCounts> unseen;                // the other chunks
  std::vector<std::vector<double>> shares() const;  // [layers][E], from the planning chunks
};
Routing drawn_routing(const std::string& model, const RoutingModel& drawn);

// Routing depends on no profile, so several labs share it.
class Traffic {
 public:
  explicit Traffic(RoutingModel model = {}) : model_(model) {}
  const Routing& of(const std::string& model);
  const RoutingModel& model() const { return model_; }

 private:
  RoutingModel model_;
  std::map<std::string, std::unique_ptr<Routing>> drawn_;
};

class Lab {
 public:
  // Error if the profile has no experts section. `traffic` must outlive the lab.
  Lab(SocProfile profile, Traffic& traffic);

  const SocProfile& profile() const { return profile_; }
  const ChipExperts& chip() const { return profile_.experts; }
  const Routing& routing(const char* model) { return traffic_.of(model); }
  const ExpertTimes& prefill(const Setting& setting, ExpertEngine engine);

 private:
  SocProfile profile_;
  Traffic& traffic_;
  std::map<std::pair<Setting, ExpertEngine>, ExpertTimes> times_;
};

}  // namespace tandem::paper_npumoe
