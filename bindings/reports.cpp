#include "bindings/reports.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/device/device_json.h"
#include "engine/device/registry.h"
#include "engine/plan/prediction/plan_json.h"
#include "engine/run/engine.h"
#include "engine/run/pass/core_layout.h"
#include "sync/affinity.h"

namespace tandem::bindings {
namespace {

using nlohmann::json;

// A text may hold bytes that are no UTF-8; JSON shows them as U+FFFD.
std::string dumped(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

json looked_at(const std::string& id, const DeviceOptions& options) {
  try {
    return to_json(open_device(id, options)->info());
  } catch (const Error& error) {
    return {{"id", id}, {"error", error.what()}};
  }
}

json planned(Engine& engine, const std::string& name, const Batch& batch, int64_t position) {
  Planner& planner = engine.plans().planner();
  const Plan plan = planner.plan_for(batch, position);
  return plan_json({name, batch.S, position}, plan, predict(plan, planner.costs(position)));
}

}  // namespace

std::string version() { return TANDEM_VERSION; }

std::string devices_json() {
  require_no_callback();
  const CoreLayout layout = lay_out_cores(usable_cores(), 0);
  DeviceOptions options;
  options.gpu_cores = layout.gpu;
  options.npu_cores = layout.npu;
  configure_drivers(options);
  json devices = json::array();
  for (const std::string& id : available_devices()) devices.push_back(looked_at(id, options));
  for (const UnusableDevice& one : unusable_devices())
    devices.push_back({{"id", one.id}, {"name", one.name}, {"error", one.reason}});
  return dumped(devices);
}

std::string model_json(const TextModel& model) {
  json report;
  model.between_passes([&](Engine& engine) {
    const ModelConfig& config = engine.model().config();
    report = {{"path", model.path()},
              {"name", config.name},
              {"architecture", config.architecture},
              {"layers", config.layers},
              {"vocabulary", config.vocabulary},
              {"context", engine.sizes().context},
              {"trained_context", config.context_length},
              {"parallel", model.parallel()},
              {"weight_bytes", engine.model().weight_bytes()},
              {"activation_bytes", engine.activation_bytes()},
              {"cache_bytes", engine.cache().bytes()},
              {"device", engine.machine().device_names()},
              {"plan", engine.plans().name()},
              {"plan_asked", engine.options().plan},
              {"act", to_string(*engine.options().act)},
              {"notes", engine.diagnostics()},
              {"other_bits", engine.contract().other_bits},
              {"bits_depend_on_passes", engine.contract().bits_depend_on_passes}};
  });
  return dumped(report);
}

std::string plans_json(const TextModel& model, int64_t prompt_tokens) {
  if (prompt_tokens < 1)
    throw UsageError("there is nothing to plan", "a prompt of " + std::to_string(prompt_tokens) + " tokens",
                     "Give at least one token");
  if (prompt_tokens >= model.context())
    throw ContextError(
        "the tokens do not fit the context",
        std::to_string(prompt_tokens) + " tokens and one behind them, context " + std::to_string(model.context()),
        "Load the model with a larger context, or plan fewer tokens");
  json report;
  model.between_passes([&](Engine& engine) {
    json phases = json::array();
    int64_t first = 0;
    for (const Batch& piece : engine.plans().chunks_of(0, prompt_tokens)) {
      phases.push_back(planned(engine, "prefill", piece, first));
      first += piece.S;
    }
    phases.push_back(planned(engine, "decode", {1, 1}, prompt_tokens));
    report = {{"schema", 1},
              {"model", engine.model().config().name.empty() ? model.path() : engine.model().config().name},
              {"clock", "predicted from what was measured on this machine"},
              {"plan_asked", engine.options().plan},
              {"device", engine.machine().device_names()},
              {"act", to_string(*engine.options().act)},
              {"context", engine.sizes().context},
              {"phases", std::move(phases)}};
  });
  return dumped(report);
}

std::string generation_json(const Generation& generation) {
  return dumped({{"text", generation.text},
                 {"ids", generation.ids},
                 {"stop_reason", to_string(generation.reason)},
                 {"timings",
                  {{"clock", "measured"},
                   {"prompt_tokens", generation.prompt_tokens},
                   {"kept_tokens", generation.cached_prefix_tokens},
                   {"prompt_ms", generation.prompt_seconds * 1e3},
                   {"predicted_tokens", generation.ids.size()},
                   {"predicted_ms", generation.predicted_seconds * 1e3},
                   {"predicted_passes", generation.predicted_passes},
                   {"draft_n", generation.drafts.drafts},
                   {"draft_n_accepted", generation.drafts.accepted}}}});
}

}  // namespace tandem::bindings
