#include "engine/plan/prediction/plan_json.h"

#include <nlohmann/json.hpp>

namespace tandem {
namespace {

using nlohmann::json;

double ms(double seconds) { return seconds * 1e3; }

// The time of a cut is the time until both sides have ended. The times of the sides show which one waits.
json to_json(const Priced& priced) {
  json parts = json::array();
  for (const Part& part : priced.cut.parts) {
    parts.push_back({{"side", part.side == Side::general ? "gpu" : "npu"},
                     {"token_begin", part.token_begin},
                     {"token_end", part.token_end},
                     {"row_begin", part.row_begin},
                     {"row_end", part.row_end},
                     {"graph_tokens", part.graph_tokens}});
  }
  return {{"cut", to_string(priced.cut.kind)}, {"text", to_string(priced.cut)},    {"ms", ms(priced.seconds)},
          {"gpu_ms", ms(priced.gpu_seconds)},  {"npu_ms", ms(priced.npu_seconds)}, {"parts", std::move(parts)}};
}

// Matmuls of one shape share a decision. The best cut of each kind is listed, so a reader sees how close the choice
// was (H9).
json to_json(const Decided& decided) {
  json candidates = json::array();
  for (const Priced& priced : decided.decision.best_of_each_kind) candidates.push_back(to_json(priced));
  return {{"name", decided.name},
          {"operators", decided.operators},
          {"format", to_string(decided.shape.format)},
          {"S", decided.shape.S},
          {"K", decided.shape.K},
          {"N", decided.shape.N},
          {"chosen", to_json(decided.decision.chosen)},
          {"candidates", std::move(candidates)},
          {"why", decided.decision.why}};
}

json groups_json(const std::vector<ExpertGroup>& groups) {
  json array = json::array();
  for (const ExpertGroup& group : groups) array.push_back({{"rows_each", group.capacity}, {"experts", group.experts}});
  return array;
}

// NPUMoE: the experts of each layer that live on the NPU.
json to_json(const PlannedExperts& planned) {
  return {{"layer", planned.layer},
          {"npu", groups_json(planned.placement.resident)},
          {"elsewhere", groups_json(planned.placement.elsewhere)},
          {"expected_elsewhere_share", planned.placement.expected_elsewhere}};
}

}  // namespace

// Every step with its operators, the decisions behind the plan, and the busy times. Steps refer to each other by their
// index in the list.
json plan_json(const PlannedPhase& phase, const Plan& plan, const Prediction& prediction) {
  json steps = json::array();
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const PredictedStep& predicted = prediction.steps[i];
    json operators = json::array();
    for (size_t o = 0; o < step.operators.size(); ++o) {
      operators.push_back({{"name", step.operators[o].name},
                           {"kind", kind_name(step.operators[o])},
                           {"tokens", tokens_of(step.operators[o])},
                           {"ms", ms(predicted.operator_seconds[o])}});
    }
    steps.push_back({{"device", plan.devices[static_cast<size_t>(step.device)]},
                     {"waits", step.waits},
                     {"start_ms", ms(predicted.start_seconds)},
                     {"end_ms", ms(predicted.end_seconds)},
                     {"operators", std::move(operators)}});
  }
  json matmuls = json::array(), busy = json::object();
  for (const Decided& decided : plan.decisions) matmuls.push_back(to_json(decided));
  for (size_t d = 0; d < plan.devices.size(); ++d) busy[plan.devices[d]] = ms(prediction.busy_seconds[d]);
  json experts = json::array();
  for (const PlannedExperts& planned : plan.experts) experts.push_back(to_json(planned));
  return {{"phase", phase.name},
          {"tokens", phase.S},
          {"position", phase.position},
          {"plan", plan.name},
          {"dominant", plan.dominant == Dominant::npu ? "npu" : "gpu"},
          {"predicted_ms", ms(prediction.seconds)},
          {"tokens_per_second", static_cast<double>(phase.S) / prediction.seconds},
          {"busy_ms", std::move(busy)},
          {"matmuls", std::move(matmuls)},
          {"experts", std::move(experts)},
          {"notes", plan.notes},
          {"steps", std::move(steps)}};
}

}  // namespace tandem
