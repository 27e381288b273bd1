// Makes reports as JSON, with the same functions as the program's `--json` where there are any. So a script that reads
// one can read the other.
#include "bindings/reports.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/device/device_json.h"
#include "engine/device/registry.h"
#include "engine/lab/sync_json.h"
#include "engine/lab/sync_lab.h"
#include "engine/plan/prediction/plan_json.h"
#include "engine/run/engine.h"
#include "engine/run/machine/expert_store.h"
#include "engine/run/pass/core_layout.h"
#include "sync/affinity.h"
#include "sync/long_wait.h"
#include "sync/waiter.h"

namespace tandem::bindings {
namespace {

using nlohmann::json;

// A text may hold bytes that are no UTF-8; JSON shows them as U+FFFD.
std::string dumped(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

// A device that cannot be opened is a part of the report, with its error. The other devices are still listed.
json looked_at(const std::string& id, const DeviceOptions& options) {
  try {
    return to_json(open_device(id, options)->info());
  } catch (const Error& error) {
    return {{"id", id}, {"error", error.what()}};
  }
}

// Experts that move between memory and file; null: all of them stay in memory. Names as in `tandem run --json`.
json expert_store_json(const Engine& engine) {
  const ExpertStore* store = engine.model().expert_store();
  if (store == nullptr) return nullptr;
  return {{"slots_per_layer", store->slots()},
          {"experts_per_layer", store->experts()},
          {"bytes", store->bytes()},
          {"policy", store->policy()},
          {"copies", store->lanes() != nullptr},
          {"reads", store->of_prompts().loads + store->of_text().loads}};
}

// Uses the planner of the running engine, so the report shows what the next pass would do with the measured costs
// of now.
json planned(Engine& engine, const std::string& name, const Batch& batch, int64_t position) {
  Planner& planner = engine.plans().planner();
  const Plan plan = planner.plan_for(batch, position);
  return plan_json({name, batch.S, position}, plan, predict(plan, planner.costs(position)));
}

}  // namespace

std::string version() { return TANDEM_VERSION; }

// Opens devices with the cores that a model would give them, because a CPU device describes itself by its cores.
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

// Checks every option before the first device is opened, since the measurement can take minutes. The laboratory calls
// `check` between steps, which is where Ctrl-C and cancels take effect.
std::string sync_lab_json(const SyncAsked& asked, const Patience& patience) {
  require_no_callback();
  sync_lab::LabOptions options;
  for (const std::string& id : asked.devices) as_kind<DeviceError>([&] { return device_factory(id).kind; });
  options.devices = asked.devices.empty() ? available_devices() : asked.devices;
  for (const std::string& name : asked.policies)
    options.policies.push_back(as_kind<UsageError>([&] { return sync::policy_named(name); }));
  for (const double seconds : asked.work_seconds)
    if (!(seconds >= 0 && seconds <= 1))
      throw UsageError("this is no length of a step", std::to_string(seconds) + " s", "Give 0 to 1 second");
  if (asked.rounds < 0 || asked.rounds > 1000000)
    throw UsageError("the number of rounds is out of range", std::to_string(asked.rounds), "Give 0 to 1000000");
  if (!asked.work_seconds.empty()) options.work_seconds = asked.work_seconds;
  std::ranges::sort(options.work_seconds);
  options.rounds = asked.rounds;
  options.quick = asked.quick;
  options.layout = lay_out_cores(usable_cores(), 0);
  options.device_options.gpu_cores = options.layout.gpu;
  options.device_options.npu_cores = options.layout.npu;
  configure_drivers(options.device_options);
  options.check = [&] {
    if (patience.look) patience.look();
    if (patience.is_over && patience.is_over()) throw Interrupted();
  };
  return dumped(sync_lab::sync_json(sync_lab::run_sync_lab(options)));
}

// Runs between two passes, because plans and diagnostics change during a pass.
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
              {"expert_store", expert_store_json(engine)},
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

// A prompt is planned in the chunks in which it would run, each behind the tokens of those before. One token behind the
// prompt stands for decoding.
std::string plans_json(const TextModel& model, int64_t prompt_tokens) {
  if (prompt_tokens < 1)
    throw UsageError("there is nothing to plan", "a prompt of " + std::to_string(prompt_tokens) + " tokens",
                     "Give at least one token");
  json report;
  model.between_passes([&](Engine& engine) {
    if (prompt_tokens >= model.context())
      throw ContextError(
          "the tokens do not fit the context",
          std::to_string(prompt_tokens) + " tokens and one behind them, context " + std::to_string(model.context()),
          "Load the model with a larger context, or plan fewer tokens");
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
