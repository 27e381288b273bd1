// Prints a plan. All operators of one name on one device are one line, because layers mostly have the same operators.
#include "engine/app/commands/planning/plan_report.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/model/layer_names.h"
#include "engine/plan/prediction/plan_json.h"

namespace tandem::app {
namespace {

using nlohmann::json;

double ms(double seconds) { return seconds * 1e3; }

// All operators of one name on one device.
struct Line {
  std::string name, device;
  int64_t operators = 0;
  double seconds = 0;  // sum over all of them
};

// One line per operator name (of all layers) and device, in the order of the computation.
std::vector<Line> lines_of(const PhaseReport& phase) {
  std::vector<Line> lines;
  std::map<std::pair<std::string, std::string>, size_t> index;
  for (size_t i = 0; i < phase.plan.steps.size(); ++i) {
    const Step& step = phase.plan.steps[i];
    const std::string& device = phase.plan.devices[static_cast<size_t>(step.device)];
    for (size_t o = 0; o < step.operators.size(); ++o) {
      const std::string name(name_in_layer(step.operators[o].name));
      const auto [found, is_new] = index.try_emplace({name, device}, lines.size());
      if (is_new) lines.push_back({name, device, 0, 0});
      Line& line = lines[found->second];
      ++line.operators;
      line.seconds += phase.predicted.steps[i].operator_seconds[o];
    }
  }
  return lines;
}

// "4 x 64, 8 x 32": experts and the rows of each.
std::string groups_text(const std::vector<ExpertGroup>& groups) {
  std::string text;
  for (const ExpertGroup& group : groups)
    text += (text.empty() ? "" : ", ") + std::to_string(group.experts.size()) + " x " + std::to_string(group.capacity);
  return text.empty() ? "none" : text;
}

// NPUMoE: where the experts of each layer lie, and how many choices are expected outside of the NPU.
void print_experts(const std::vector<PlannedExperts>& experts) {
  std::printf("\n| layer | groups on the NPU, experts x rows | groups elsewhere | choices expected elsewhere |\n");
  std::printf("| ---: | --- | --- | ---: |\n");
  for (const PlannedExperts& planned : experts)
    std::printf("| %lld | %s | %s | %.1f %% |\n", static_cast<long long>(planned.layer),
                groups_text(planned.placement.resident).c_str(), groups_text(planned.placement.elsewhere).c_str(),
                100 * planned.placement.expected_elsewhere);
}

// The last five keys exist only on a model clock.
json to_json(const PhaseReport& phase) {
  json object = plan_json({phase.phase, phase.S, phase.position}, phase.plan, phase.predicted);
  if (phase.run) {
    object["compile_ms"] = ms(phase.run->compile_seconds);
    object["crossings"] = phase.run->crossings;
    object["joules"] = phase.run->joules;
    object["watts"] = phase.run->watts();
    object["gb_per_second"] = phase.run->bytes_per_second() * 1e-9;
  }
  return object;
}

// The chosen cut is one of the candidates, which the solver lists by kind.
void print_decision(const Decided& decided) {
  std::printf("\n%s and %lld alike (S %lld, K %lld, N %lld, %s): %s\n",
              std::string(name_in_layer(decided.name)).c_str(), static_cast<long long>(decided.operators - 1),
              static_cast<long long>(decided.shape.S), static_cast<long long>(decided.shape.K),
              static_cast<long long>(decided.shape.N), to_string(decided.shape.format).c_str(),
              decided.decision.why.c_str());
  std::printf("\n| candidate | GPU ms | NPU ms | T ms | |\n| --- | ---: | ---: | ---: | --- |\n");
  for (const Priced& priced : decided.decision.best_of_each_kind) {
    std::printf("| %s | %.3f | %.3f | %.3f | %s |\n", to_string(priced.cut).c_str(), ms(priced.gpu_seconds),
                ms(priced.npu_seconds), ms(priced.seconds), priced.cut == decided.decision.chosen.cut ? "chosen" : "");
  }
}

// A table of operators, then each decision with its candidates, then the sums. Shares refer to the whole pass. Devices
// work side by side, so the shares of all lines may add up to more than 100 %.
void print(const PhaseReport& phase) {
  std::printf("\n## %s: %lld token%s at position %lld, plan %s\n\n", phase.phase.c_str(),
              static_cast<long long>(phase.S), phase.S == 1 ? "" : "s", static_cast<long long>(phase.position),
              phase.plan.name.c_str());
  std::printf("| operator | runs on | times | predicted ms | share |\n| --- | --- | ---: | ---: | ---: |\n");
  for (const Line& line : lines_of(phase)) {
    std::printf("| %s | %s | %lld | %.3f | %.1f %% |\n", line.name.c_str(), line.device.c_str(),
                static_cast<long long>(line.operators), ms(line.seconds), 100 * line.seconds / phase.predicted.seconds);
  }
  for (const Decided& decided : phase.plan.decisions) print_decision(decided);
  if (!phase.plan.experts.empty()) print_experts(phase.plan.experts);
  std::printf("\n%s: predicted %.3f ms, %.1f tokens/s;", phase.phase.c_str(), ms(phase.predicted.seconds),
              static_cast<double>(phase.S) / phase.predicted.seconds);
  for (size_t d = 0; d < phase.plan.devices.size(); ++d)
    std::printf(" %s busy %.1f %%%s", phase.plan.devices[d].c_str(),
                100 * phase.predicted.busy_seconds[d] / phase.predicted.seconds,
                d + 1 == phase.plan.devices.size() ? "\n" : ",");
  if (phase.run) {
    std::printf("%lld crossings, %.1f GB/s, %.3f J, %.2f W", static_cast<long long>(phase.run->crossings),
                phase.run->bytes_per_second() * 1e-9, phase.run->joules, phase.run->watts());
    if (phase.run->compile_seconds > 0)
      std::printf("; compiling its graphs first: %.1f ms", ms(phase.run->compile_seconds));
    std::printf("\n");
  }
  for (const std::string& note : phase.plan.notes) std::printf("note: %s\n", note.c_str());
}

}  // namespace

// A step lasts from the begin of its first span to the end of its last one. Spans leave out the crossings between CPU
// and NPU, so a step's operators may take less time than the step.
Prediction prediction_of(const Plan& plan, const ModelRun& run) {
  Prediction prediction;
  prediction.seconds = run.seconds;
  prediction.steps.resize(plan.steps.size());
  for (const ModelSpan& span : run.spans) {  // a step's spans come in the order of its operators
    PredictedStep& step = prediction.steps[static_cast<size_t>(span.step)];
    if (step.operator_seconds.empty()) step.start_seconds = span.start_seconds;
    step.end_seconds = span.end_seconds;
    step.operator_seconds.push_back(span.end_seconds - span.start_seconds);
  }
  for (const ModelDevice& device : run.devices) prediction.busy_seconds.push_back(device.busy_seconds);
  return prediction;
}

// The parts about the engine and about experts are absent where they do not apply.
json to_json(const PlanReport& report) {
  json phases = json::array();
  for (const PhaseReport& phase : report.phases) phases.push_back(to_json(phase));
  json object = {{"schema", 1},
                 {"model", report.model},
                 {"clock", report.clock},
                 {"plan_asked", report.asked},
                 {"phases", std::move(phases)}};
  if (report.opened) {
    object["device"] = report.opened->devices;
    object["act"] = report.opened->act;
    object["context"] = report.opened->context;
    object["chunk"] = report.opened->chunk;
    object["cache_bytes"] = report.opened->cache_bytes;
  }
  if (report.experts) object["experts"] = to_json(*report.experts);
  return object;
}

// One section for each phase, then the experts.
void print(const PlanReport& report) {
  std::printf("# %s, times %s, plan asked for: %s\n", report.model.c_str(), report.clock.c_str(), report.asked.c_str());
  for (const PhaseReport& phase : report.phases) print(phase);
  if (report.experts) print(*report.experts);
}

}  // namespace tandem::app
