// The part of `tandem plan --soc` about a mixture's experts, for a chip whose NPU runs static graphs. It shows
// tiers and groups, and which groups live on the NPU and why. It also compares the engines of the NPUMoE paper (N2
// to N5, N9, N10).
//
// Contract: plain values and pure functions; everything is modelled. Counts of experts come from a calibration, which
// may be made from recorded routing. Without one the routing of a shape is drawn (engine/moe/routing_model.h). Units:
// seconds, joules.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/config.h"
#include "engine/moe/calibration.h"
#include "engine/moe/expert_prefill.h"
#include "engine/plan/model_clock/soc_profile.h"

namespace tandem::app {

struct PlannedGroup {
  int64_t experts = 0, rows_each = 0, graph_bytes = 0;
  double expected_tokens = 0;               // of all its experts together
  double npu_seconds = 0, cpu_seconds = 0;  // for one chunk on that processor
  bool resident = false;                    // on the NPU
};

struct EngineFigures {
  std::string engine;
  ExpertTimes times;  // of the whole prompt, in all layers with experts
};

struct ExpertsReport {
  std::string missing;  // why the rest of the report is empty; "": it is not
  std::string chip;
  std::string routing;  // "drawn", or the source of the counts
  MixtureShape shape;
  int64_t prompt = 0, chunk = 0;     // tokens
  std::array<int64_t, 3> tiers{};    // rows, largest first
  std::vector<PlannedGroup> groups;  // groups of the first layer, resident ones first
  double padded = 0, dropped = 0;    // expected share of the rows, of the choices; for drawn routing, of unseen chunks
  std::vector<EngineFigures> engines;
};

// config has experts. chunk: tokens of the prompt that are computed at once. calibration: of a model with as many
// experts (Error otherwise), or absent.
ExpertsReport plan_experts(const SocProfile& profile, const ModelConfig& config, int64_t prompt, int64_t chunk,
                           const std::optional<Calibration>& calibration);

nlohmann::json to_json(const ExpertsReport& report);
void print(const ExpertsReport& report);

}  // namespace tandem::app
