#include "engine/run/engine.h"

#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "engine/run/activation_sizes.h"
#include "engine/run/choice/contract.h"
#include "engine/run/machine/kernel_preparation.h"
#include "engine/run/machine/missing_kernels.h"
#include "engine/run/pass/not_finite.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "sync/long_wait.h"

namespace tandem {
namespace {

// Called while no process reads the FIFO that a state is written to. Ends the wait if the caller asks for it.
WhileUnread while_unread(const Engine& engine, const std::string& path) {
  return [&engine, wait = LongWait("somebody who reads " + path)](double) mutable {
    if (engine.interrupted && engine.interrupted()) throw Engine::Interrupted();
    wait.look();
  };
}

// Adds its lifetime to the machine's compile time, if this process compiles for a card.
class CompileClock {
 public:
  explicit CompileClock(Machine& machine) : machine_(machine) {}
  ~CompileClock() {
    if (machine_.compiles_for_card()) machine_.compiled_for(now_seconds() - start_);
  }
  CompileClock(const CompileClock&) = delete;
  CompileClock& operator=(const CompileClock&) = delete;

 private:
  Machine& machine_;
  const double start_ = now_seconds();
};

}  // namespace

// The file is opened before the devices, because its tensors decide which kernels texts need. If these are not compiled
// yet, the devices open without the GPU, or this process compiles.
std::unique_ptr<Engine> Engine::open(const EngineOptions& options) {
  const Strategy* asked = chosen_strategy(options.plan);  // Error for an unknown name, before anything is loaded
  MachineOptions machine_options = options;
  if (options.sequences > 0) machine_options.listed_tokens = std::max(options.listed_tokens, kListedTokens);
  auto machine = std::make_shared<Machine>(machine_options, asked);
  GgufFile file = GgufFile::open(options.model_path);
  begin_without_kernels(options, file, *machine);
  return std::make_unique<Engine>(std::make_shared<LoadedModel>(std::move(machine), options, std::move(file)), options);
}

// The type of activations comes first, because it depends on the devices and decides about bits. Then the sizes follow
// from options and model, and the buffers from the sizes. rebuild() makes the planner, which needs all of them.
Engine::Engine(std::shared_ptr<LoadedModel> model, const TextOptions& options)
    : model_(std::move(model)), machine_(model_->machine()), options_(options), asked_(chosen_strategy(options.plan)) {
  if (!options_.act) options_.act = default_act(*machine_, asked_);
  other_bits_ = find_other_bits();
  if (const std::string note = note_on_act(act(), matrix_formats(model_->model().weights)); !note.empty())
    diagnostics_.push_back(note);
  if (!other_bits_.empty())
    diagnostics_.push_back(fmt::format("other plans may give other bits: {}", fmt::join(other_bits_, "; ")));

  const ActivationSizes sizes = activation_sizes(options_, config(), *machine_, asked_);
  activations_ = std::make_unique<Activations>(config(), sizes, &machine_->pool());
  cache_ = std::make_unique<TextCache>(*model_, *activations_, options_.sequences, act());
  expert_use_ =
      std::make_unique<ExpertUse>(config(), calibrated_counts(options_.calibration, model_->file(), config()));
  plans_ = std::make_unique<PassPlans>(*model_, *activations_, options_, asked_,
                                       config().experts ? &expert_use_->counts() : nullptr);

  // A card may refuse operators of this model, and then the host joins it.
  if (machine_->card_is_alone()) machine_->add_host_for(operators_for({chunk(), 1}));
  rebuild();
  if (asked_) {
    for (const std::string& note : plans_->planner().make(*asked_, {1, 1}, 0).notes) diagnostics_.push_back(note);
  }
  machine_->add_user(*this);  // last: after an exception the destructor, which removes the user, does not run
}

Engine::~Engine() { machine_->remove_user(*this); }

// The reasons why another plan may change a result, for the user. A GPU may join a text only if the reasons stay
// the same.
std::vector<std::string> Engine::find_other_bits() const {
  auto reasons = reasons_for_other_bits(machine_->infos(), matrix_formats(model_->model().weights), *options_.act);
  if (config().experts && options_.experts.overflow == Overflow::drop)
    reasons.push_back("tokens beyond an expert's room on the NPU are dropped (--overflow drop)");
  return reasons;
}

bool Engine::accepts(std::span<const DeviceInfo* const> devices) const {
  return reasons_for_other_bits(devices, matrix_formats(model_->model().weights), *options_.act) == other_bits_;
}

// Makes the planner for the machine's present devices, and compiles the kernels that every plan needs. A list kernel
// (engine/device/opencl/list_launcher.h) is compiled for a set of kernels. The set that the model's single tokens need
// serves every plan.
void Engine::rebuild() {
  const CompileClock compiling(*machine_);
  other_bits_ = find_other_bits();
  plans_->rebuild();
  prepare_kernels(1);
  if (const auto batches = listed_batches(*machine_, activations_->sizes); !batches.empty())
    tandem::prepare_kernels(*machine_, batches, [this](const Batch& batch) { return operators_for(batch); });
  plans_->probe_devices();
}

void Engine::prepare_kernels(int64_t tokens) {
  tandem::prepare_kernels(*machine_, std::vector<Batch>{{tokens, 1}},
                          [this](const Batch& batch) { return operators_for(batch); });
}

bool Engine::bits_depend_on_passes() const {
  // Which choices have no room at an expert, and are dropped, depends on the other tokens of the pass.
  const bool drops = config().experts && options_.experts.overflow == Overflow::drop;
  return drops ||
         tandem::bits_depend_on_passes(machine_->infos(), matrix_formats(model_->model().weights), *options_.act);
}

std::vector<std::string> Engine::diagnostics() const {
  std::vector<std::string> all = machine_->diagnostics();
  all.insert(all.end(), diagnostics_.begin(), diagnostics_.end());
  return all;
}

void Engine::check_fits(std::span<const int32_t> ids, int64_t position) const {
  check_ids(ids, position, config().vocabulary, context());
}

PassLimits Engine::limits() const {
  const ActivationSizes& sizes = activations_->sizes;
  return {options_.sequences, chunk(), sizes.logit_rows, sizes.segments, config().vocabulary, context(), ""};
}

// PassPlans::chunk_at() needs the position where the prompt began, which lies `first` tokens back.
Batch Engine::next_chunk(int64_t first, int64_t total) {
  return plans_->chunk_at(std::max<int64_t>(0, position_ - first), first, total);
}

// The position moves last, so a pass that fails adds nothing to the context.
void Engine::pass(std::span<const int32_t> ids, const Batch& batch) {
  machine_->admit_gpu_when_warm();
  cache_->require_memory(position_ + batch.S);
  PassPlans::Entry& entry = plans_->prepare(batch, position_);
  write_positions(*activations_, position_, batch.S);
  run_batch(entry, ids, position_);
  position_ += batch.S;
  cached_end_ = std::max(cached_end_, position_);
}

// Runs a pass whose positions and segments are in their buffers already. position: the largest one at which a run of
// tokens begins. N1 without a calibration: the choices counted so far decide which experts later passes have on the
// NPU. When they have changed enough, prepared plans that place experts are dropped.
void Engine::run_batch(PassPlans::Entry& entry, std::span<const int32_t> ids, int64_t position) {
  std::memcpy(activations_->ids.as<int32_t>(), ids.data(), ids.size_bytes());
  plans_->run(entry, position);
  last_batch_ = entry.batch;
  if (config().experts && last_batch_.S >= kFewestTokens &&
      expert_use_->add(entry.prepared->plan(), routing(), options_.experts.overflow))
    plans_->drop_plans_with_experts();
}

// N5: a prompt that is longer than a chunk runs in several passes. An interrupt takes effect between two of them, so
// the context always ends with a whole pass.
std::span<const float> Engine::extend(std::span<const int32_t> ids) {
  const auto total = static_cast<int64_t>(ids.size());
  check_fits(ids, position_);
  for (int64_t first = 0; first < total;) {
    if (first > 0 && interrupted && interrupted()) throw Interrupted();
    const Batch batch = next_chunk(first, total);
    pass(ids.subspan(static_cast<size_t>(first), static_cast<size_t>(batch.S)), batch);
    first += batch.S;
    if (prefill_progress && total > chunk()) prefill_progress(first, total);
  }
  return {activations_->logits.as<float>(), static_cast<size_t>(config().vocabulary)};
}

// Every token gets logits here, so the room for logits bounds a pass too.
void Engine::extend_all(std::span<const int32_t> ids, const LogitsSink& sink) {
  const int64_t total = static_cast<int64_t>(ids.size()), V = config().vocabulary;
  const int64_t chunk = std::min(activations_->sizes.tokens, activations_->sizes.logit_rows);
  TANDEM_CHECK(chunk > 0, "an engine opened without logit rows has no logits to give");
  check_fits(ids, position_);
  for (int64_t first = 0; first < total; first += chunk) {
    if (first > 0 && interrupted && interrupted()) throw Interrupted();
    const int64_t S = std::min(chunk, total - first);
    pass(ids.subspan(static_cast<size_t>(first), static_cast<size_t>(S)), {S, S});
    sink(first, {activations_->logits.as<float>(), static_cast<size_t>(S * V)});
    if (prefill_progress && total > chunk) prefill_progress(first + S, total);
  }
}

// First everything that may fail without running: checks, pages, memory and the plan. Then the pass runs, and only
// after its success the sequences take their tokens.
std::span<const float> Engine::extend(std::span<const Extension> extensions) {
  const bool trees = std::ranges::any_of(extensions, [](const Extension& each) { return !each.parents.empty(); });
  PassLimits limits = this->limits();
  if (trees && !machine_->zero_copy()) limits.no_trees_because_of = machine_->device_names();
  check_extensions(extensions, limits);
  machine_->admit_gpu_when_warm();
  for (const Extension& each : extensions) cache_->make_room(*each.sequence, std::ssize(each.ids));
  cache_->require_memory(position_);
  const PassTokens pass = tokens_of_pass(extensions);
  const Batch batch{std::ssize(pass.ids), pass.logit_rows, segment_class(std::ssize(pass.runs)), trees};
  PassPlans::Entry& entry = plans_->prepare(batch, pass.position);
  write_runs(*activations_, pass.runs, batch.segments);
  run_batch(entry, pass.ids, pass.position);
  for (const Extension& each : extensions) {
    if (each.parents.empty())
      each.sequence->append(each.ids);
    else
      each.sequence->draft({{each.ids.begin(), each.ids.end()}, {each.parents.begin(), each.parents.end()}});
  }
  return {activations_->logits.as<float>(), static_cast<size_t>(pass.logit_rows * config().vocabulary)};
}

// Prepares the plans of the passes that extend() will run, with the same chunks, and runs nothing. With then_single it
// also prepares the plan of the first written token.
void Engine::prewarm(int64_t tokens, bool then_single) {
  const CompileClock compiling(*machine_);
  const int64_t total = std::min(tokens, context() - position_), end = position_ + total;
  for (int64_t first = 0; first < total;) {
    const Batch batch = plans_->chunk_at(position_, first, total);
    plans_->prepare(batch, position_ + first);
    first += batch.S;
  }
  if (then_single && end < context()) plans_->prepare(plans_->chunk_at(end, 0, 1), end);
}

void Engine::rewind(int64_t position) {
  TANDEM_CHECK(position >= 0 && position <= position_, "a context can only be shortened");
  position_ = position;
}

// Positions behind the context keep their keys and values until a pass overwrites them, so a shortened context can
// grow back.
void Engine::resume(int64_t position) {
  TANDEM_CHECK(position >= position_ && position <= cached_end_, "nothing was ever appended there");
  position_ = position;
}

void Engine::save_state(const std::string& path, std::span<const int32_t> ids) const {
  TANDEM_CHECK(std::ssize(ids) == position_, "the tokens of the context");
  cache_->save_context(path, ids, while_unread(*this, path));
}

void Engine::save_state(const std::string& path, const Sequence& sequence) const {
  cache_->save(path, sequence, while_unread(*this, path));
}

std::vector<int32_t> Engine::load_state(const std::string& path) {
  std::vector<int32_t> ids = cache_->load_context(path);
  position_ = cached_end_ = std::ssize(ids);
  return ids;
}

Sequence Engine::load_sequence(const std::string& path) { return cache_->load(path); }

// One test covers all rows, and the rows are searched only if it fails.
void Engine::require_finite(std::span<const float> logits, int64_t first) {
  if (all_finite(logits)) return;
  const auto V = static_cast<size_t>(config().vocabulary);
  for (size_t row = 0; all_finite(logits.subspan(row * V, V)); ++row) ++first;
  throw not_finite(first);
}

// A pass overwrites its intermediate values. So its operators run again one by one, until one of them writes a value
// that is not finite.
Error Engine::not_finite(int64_t position) {
  const auto where = where_not_finite(operators_for(last_batch_), machine_->devices(), machine_->executor());
  return {"the logits are not finite at token " + std::to_string(position),
          model_->file().path() + ": " +
              (where ? "such numbers begin in " + *where : "run again operator by operator, all numbers were finite"),
          "The model file, a saved state or kept weights are damaged, or a value is beyond f16: compare the file with "
          "its source, or try --act f32 --cache-type f32"};
}

// Views of the routing that the last pass left in its buffers. In the model's last layer only tokens with logits
// are routed.
std::vector<RoutedLayer> Engine::routing() const {
  std::vector<RoutedLayer> layers;
  for (int64_t l = 0; l < config().layers && last_batch_.S > 0; ++l) {
    if (!config().has_experts(l)) continue;
    const LayerRouting& from = activations_->routing[static_cast<size_t>(l)];
    const ExpertsConfig& experts = *config().experts;
    RoutedLayer layer;
    layer.layer = l;
    layer.tokens = l + 1 < config().layers ? last_batch_.S : last_batch_.logit_rows;
    layer.scores_stride = from.width;
    const auto tokens = static_cast<size_t>(layer.tokens), chosen = tokens * static_cast<size_t>(experts.used);
    layer.scores = {from.scores.as<const float>(), tokens * static_cast<size_t>(layer.scores_stride)};
    layer.ids = {from.ids.as<const int32_t>(), chosen};
    layer.weights = {from.weights.as<const float>(), chosen};
    layers.push_back(layer);
  }
  return layers;
}

}  // namespace tandem
