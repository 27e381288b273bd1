// The report of `tandem plan`: which operator runs where, for how long, and why.
//
// Contract: plain values and pure functions over them. All seconds are of one clock, which the report names.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/app/commands/planning/plan_experts.h"
#include "engine/plan/model_clock/model_clock.h"
#include "engine/plan/plan.h"
#include "engine/plan/prediction/predict.h"

namespace tandem::app {

struct PhaseReport {
  std::string phase;            // "prefill", "decode"
  int64_t S = 0, position = 0;  // tokens, and the position of the first
  Plan plan;
  Prediction predicted;         // of the plan's steps
  std::optional<ModelRun> run;  // on a model clock: energy, crossings, compiling
};

// How the engine was opened.
struct OpenedAs {
  std::string devices, act;
  int64_t context = 0, chunk = 0;  // tokens
  size_t cache_bytes = 0;
};

struct PlanReport {
  std::string model;
  std::string clock;  // "predicted from what was measured on this machine", "modelled: snapdragon-8gen3"
  std::string asked;  // the plan of --plan; the phases have the plans that were taken
  std::vector<PhaseReport> phases;
  std::optional<OpenedAs> opened{};        // the engine on this machine; absent on a model clock
  std::optional<ExpertsReport> experts{};  // for a mixture of experts on a model clock
};

// Turns a run on the model clock into a prediction of its plan's steps.
Prediction prediction_of(const Plan& plan, const ModelRun& run);

nlohmann::json to_json(const PlanReport& report);
void print(const PlanReport& report);

}  // namespace tandem::app
