// What `tandem plan --soc` tells of a mixture's experts on a chip with an NPU of static graphs: tiers, groups, which of
// them live on the NPU and why, and how the engines of the NPUMoE paper compare (N2 to N5, N9, N10).
//
// Contract: plain values and pure functions; everything is modelled. Without counts of its experts (a calibration, also
// one made of recorded routing) the routing of a shape is drawn (engine/moe/routing_model.h). Seconds, joules.
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
  double expected_tokens = 0;               // of all its experts
  double npu_seconds = 0, cpu_seconds = 0;  // of a chunk there
  bool resident = false;                    // on the NPU
};

struct EngineFigures {
  std::string engine;
  ExpertTimes times;  // of the whole prompt in all layers that have experts
};

struct ExpertsReport {
  std::string missing;  // why nothing else is told; "" where it is
  std::string chip;
  std::string routing;  // "drawn", or what it was counted of
  MixtureShape shape;
  int64_t prompt = 0, chunk = 0;     // tokens
  std::array<int64_t, 3> tiers{};    // rows, largest first
  std::vector<PlannedGroup> groups;  // of the first layer, resident ones first
  double padded = 0, dropped = 0;    // expected of the rows, of the choices: of unseen chunks, where they are drawn
  std::vector<EngineFigures> engines;
};

// config has experts. chunk: tokens of a piece of the prompt. calibration: of a model with as many experts, or nothing
// (Error otherwise).
ExpertsReport plan_experts(const SocProfile& profile, const ModelConfig& config, int64_t prompt, int64_t chunk,
                           const std::optional<Calibration>& calibration);

nlohmann::json to_json(const ExpertsReport& report);
void print(const ExpertsReport& report);

}  // namespace tandem::app
