#include "engine/run/engine.h"

#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>

#include "engine/plan/placer.h"
#include "engine/plan/strategy.h"
#include "engine/run/activation_sizes.h"
#include "engine/run/cache/extension.h"
#include "engine/run/choice/contract.h"
#include "engine/run/choice/draft_rates.h"
#include "engine/run/machine/expert_store.h"
#include "engine/run/machine/kernel_preparation.h"
#include "engine/run/machine/missing_kernels.h"
#include "engine/run/pass/logits.h"
#include "engine/run/pass/not_finite.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {
namespace {

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

// An encoder's tokens see later ones, so it cannot continue a text.
void require_logits(const ModelConfig& config, const TextOptions& options, const std::string& path) {
  if (config.sees_all && !options.hidden_states)
    throw Error("the model is an encoder, which writes no text", path + " (" + config.architecture + ")",
                "`tandem embed` makes vectors of texts with it");
}

// Tokens of a text that come later would have to be seen by the earlier ones.
void require_whole(const Extension& each) {
  if (each.sequence->position() == 0 && each.parents.empty()) return;
  throw Error("an encoder reads a text as one piece", std::to_string(each.sequence->position()) + " tokens are there",
              "Begin a new sequence");
}

}  // namespace

// The members of an engine, and a user of its machine's devices.
class Engine::State : public DeviceUser {
 public:
  State(std::shared_ptr<LoadedModel> model, const TextOptions& options);
  ~State() override;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Logits run(std::span<const Extension> extensions);
  void prewarm(int64_t position, int64_t tokens, bool then_single);
  std::optional<std::string> where_not_finite();
  // every_token: also the tokens of the last layer that were routed and then dropped.
  std::vector<RoutedLayer> routing(bool every_token) const;
  int64_t width() const { return sizes().hidden_states ? model_->config().hidden : model_->config().vocabulary; }

  const std::shared_ptr<LoadedModel> model_;
  const std::shared_ptr<Machine> machine_;  // the model's
  TextOptions options_;
  const Strategy* const asked_;  // nullptr: `auto`
  std::unique_ptr<Activations> activations_;
  std::unique_ptr<TextCache> cache_;
  std::unique_ptr<ExpertUse> expert_use_;
  std::unique_ptr<PassPlans> plans_;
  AcceptanceRates draft_rates_;
  Batch last_batch_{0, 0};
  std::vector<std::string> diagnostics_;
  BitsContract contract_;
  std::unique_ptr<LogitsBuffers> logits_;  // of activations_
  std::function<void(const RoutedPass&)> watch_routing_;

 private:
  const ActivationSizes& sizes() const { return activations_->sizes; }
  bool accepts(std::span<const DeviceInfo* const> devices) const override;
  // Experts that move need the host beside the card.
  bool fits(const DeviceInfo& card) const override {
    return (card.zero_copy || !model_->expert_store()) && holds_weights(card, model_->weight_bytes());
  }
  bool has_text() const override { return cache_->has_sequences(); }
  void release_prepared() noexcept override { plans_->release(); }
  void rebuild() override;
  BitsContract find_contract(std::span<const DeviceInfo* const> devices) const;
  PassLimits limits() const;
  void set_up();
  void make_planner();
  void prepare_kernels();
  void run_batch(PassPlans::Entry& entry, const PassTokens& pass);
};

namespace {

// The file is opened before the devices, because its tensors decide which kernels texts need. If these are not compiled
// yet, the devices open without the GPU, or this process compiles. machine: receives the machine, which stays if a
// later step fails.
std::unique_ptr<Engine> open_on(const EngineOptions& given, const std::vector<UnusableDevice>& left_out,
                                std::shared_ptr<Machine>& machine) {
  const Strategy* asked = chosen_strategy(given.plan);  // Error for an unknown name, before anything is loaded
  GgufFile file = GgufFile::open(given.model_path);
  const ModelConfig config = read_config(file);
  EngineOptions options = given;
  if (!options.hidden_states) require_logits(config, options, file.path());
  if (options.i8_for_integers) options.act = chosen_act(options, matrix_formats(file, config));
  MachineOptions machine_options = options;
  if (options.sequences > 1 || (options.drafts && has_kernels_of_many(options, file)))
    machine_options.listed_tokens = std::max(options.listed_tokens, kListedTokens);
  machine = std::make_shared<Machine>(machine_options, asked, left_out);
  begin_without_kernels(options, file, *machine);
  return std::make_unique<Engine>(std::make_shared<LoadedModel>(machine, options, std::move(file)), options);
}

}  // namespace

// Nobody has asked for a default GPU. If one fails at the start, the next one is tried, and in the end no GPU. If that
// fails too, no GPU is the reason, and the first error says more.
std::unique_ptr<Engine> Engine::open(const EngineOptions& options) {
  std::vector<UnusableDevice> left_out;
  std::exception_ptr first;
  for (;;) {
    std::shared_ptr<Machine> machine;
    try {
      return open_on(options, left_out, machine);
    } catch (const Error& error) {
      if (!first) first = std::current_exception();
      const DeviceInfo* gpu = machine ? machine->default_gpu() : nullptr;
      if (gpu == nullptr || is_among(left_out, gpu->id)) std::rethrow_exception(first);
      left_out.push_back({gpu->id, gpu->name, std::string("it failed at the start: ") + error.what()});
    }
  }
}

Engine::Engine(std::shared_ptr<LoadedModel> model, const TextOptions& options)
    : state_(std::make_unique<State>(std::move(model), options)) {}

Engine::~Engine() = default;

Engine::State::State(std::shared_ptr<LoadedModel> model, const TextOptions& options)
    : model_(std::move(model)),
      machine_(model_->machine()),
      options_(options),
      asked_(chosen_strategy(options.plan)),
      draft_rates_(kept_draft_rates(machine_->measurements())) {
  machine_->orchestrator().run([this] { set_up(); });
}

// The type of activations comes first, because it depends on the devices and decides about bits. Then the sizes follow
// from options and model, and the buffers from the sizes. The planner needs all of them. A plan that cannot be made is
// an Error before kernels are compiled.
void Engine::State::set_up() {
  require_logits(model_->config(), options_, model_->file().path());
  require_shares(options_.split);
  const std::vector<PackedFormat> formats = matrix_formats(model_->model().weights);
  options_.act = chosen_act(options_, formats).value_or(default_act(*machine_, asked_));
  contract_ = find_contract(machine_->infos());
  if (const std::string note = note_on_act(*options_.act, formats); !note.empty()) diagnostics_.push_back(note);
  if (!contract_.other_bits.empty())
    diagnostics_.push_back(fmt::format("other plans may give other bits: {}", fmt::join(contract_.other_bits, "; ")));

  const ModelConfig& config = model_->config();
  activations_ = std::make_unique<Activations>(
      config, activation_sizes(options_, config, *machine_, asked_, model_->model().weights.moving), &machine_->pool());
  logits_ = std::make_unique<LogitsBuffers>(*activations_);
  cache_ = std::make_unique<TextCache>(*model_, *activations_, *options_.act);
  expert_use_ = std::make_unique<ExpertUse>(config, calibrated_counts(options_.calibration, model_->file(), config));
  if (ExpertStore* store = model_->expert_store();
      store != nullptr && store->lanes() != nullptr && !options_.calibration.empty())
    store->hold_most_used(expert_use_->counts());
  plans_ = std::make_unique<PassPlans>(*model_, *activations_, options_, asked_,
                                       config.experts ? &expert_use_->counts() : nullptr);

  // A card may refuse operators of this model, and then the host joins it.
  if (machine_->card_is_alone()) machine_->add_host_for(plans_->operators_for({sizes().tokens, 1}));
  make_planner();
  if (asked_) {
    for (const std::string& note : plans_->planner().make(*asked_, {1, 1}, 0).notes) diagnostics_.push_back(note);
  }
  prepare_kernels();
  machine_->add_user(*this);  // last: after an exception the destructor, which removes the user, does not run
}

// Programs and buffers are released between two passes of the machine's other engines.
Engine::State::~State() {
  machine_->orchestrator().run_or_here([this] {
    machine_->remove_user(*this);
    if (options_.drafts) keep_draft_rates(draft_rates_, machine_->measurements());
    logits_.reset();
    plans_.reset();
    cache_.reset();
    activations_.reset();
  });
}

BitsContract Engine::State::find_contract(std::span<const DeviceInfo* const> devices) const {
  BitsContract contract = contract_of(devices, matrix_formats(model_->model().weights), *options_.act);
  if (model_->config().experts && options_.experts.overflow == Overflow::drop) {
    // Which choices have no room at an expert depends on the other tokens of the pass.
    contract.other_bits.push_back("tokens beyond an expert's room on the NPU are dropped (--overflow drop)");
    contract.bits_depend_on_passes = true;
  }
  if (model_->config().experts && asked_ && asked_->near_memory && options_.units.split == UnitSplit::inner) {
    // Which experts the units compute depends on the other tokens of the pass.
    contract.other_bits.push_back("near-memory units add partial sums in their order (--ndp-split inner)");
    contract.bits_depend_on_passes = true;
  }
  return contract;
}

// A GPU may join a text only if other plans keep giving the same bits, or other bits for the same reasons.
bool Engine::State::accepts(std::span<const DeviceInfo* const> devices) const {
  const auto shares_memory = [](const DeviceInfo* device) { return device->zero_copy; };
  if (model_->expert_store() && !std::ranges::all_of(devices, shares_memory)) return false;
  return find_contract(devices).other_bits == contract_.other_bits;
}

void Engine::State::rebuild() {
  make_planner();
  prepare_kernels();
}

// For the machine's present devices.
void Engine::State::make_planner() {
  contract_ = find_contract(machine_->infos());
  plans_->rebuild();
}

// Compiles the kernels that every plan needs. A list kernel (engine/device/opencl/list_launcher.h) is compiled for a
// set of kernels. The set that the model's single tokens need serves every plan.
void Engine::State::prepare_kernels() {
  const CompileClock compiling(*machine_);
  plans_->prepare_kernels(std::vector<Batch>{{1, 1}});
  if (const auto batches = listed_batches(*machine_, sizes()); !batches.empty()) plans_->prepare_kernels(batches);
  plans_->probe_devices();
}

std::vector<std::string> Engine::diagnostics() const {
  std::vector<std::string> all = machine().diagnostics();
  all.insert(all.end(), model().diagnostics().begin(), model().diagnostics().end());
  all.insert(all.end(), state_->diagnostics_.begin(), state_->diagnostics_.end());
  return all;
}

PassLimits Engine::State::limits() const {
  PassLimits limits;
  limits.sequences = options_.sequences;
  limits.tokens = sizes().tokens;
  limits.logit_rows = sizes().logit_rows;
  limits.segments = sizes().segments;
  limits.vocabulary = model_->config().vocabulary;
  limits.context = sizes().context;
  limits.tree_depth = sizes().tree_depth;
  return limits;
}

Logits Engine::extend(std::span<const Extension> extensions) {
  return machine().orchestrator().run([&] { return state_->run(extensions); });
}

// First everything that may fail without running: checks, pages, memory and the plan. Then the pass runs, and only
// after its success the sequences take their tokens.
Logits Engine::State::run(std::span<const Extension> extensions) {
  const bool trees = std::ranges::any_of(extensions, [](const Extension& each) { return !each.parents.empty(); });
  check_extensions(extensions, limits());
  if (model_->config().sees_all)
    for (const Extension& each : extensions) require_whole(each);
  machine_->admit_gpu_when_warm();
  for (const Extension& each : extensions) cache_->make_room(*each.sequence, std::ssize(each.ids));
  cache_->require_memory();
  const PassTokens pass = tokens_of_pass(extensions);
  Batch batch{std::ssize(pass.ids), pass.logit_rows, segment_class(std::ssize(pass.runs)), trees};
  if (pass.logit_rows > 0) batch.logits = logits_->next();
  PassPlans::Entry& entry = plans_->prepare(batch, pass.position);
  cache_->set_home(machine_->home_of_cache(entry.prepared->plan()));
  Logits logits = logits_->lend(batch.logits, static_cast<size_t>(pass.logit_rows * width()));
  write_runs(*activations_, pass.runs, entry.batch.segments);
  run_batch(entry, pass);
  if (watch_routing_ && model_->config().experts) {
    const std::vector<RoutedLayer> layers = routing(true);
    watch_routing_({extensions, layers});
  }
  for (const Extension& each : extensions) {
    if (each.parents.empty())
      each.sequence->append(each.ids);
    else
      each.sequence->draft({{each.ids.begin(), each.ids.end()}, {each.parents.begin(), each.parents.end()}});
  }
  return logits;
}

// Runs a pass whose positions and segments are in their buffers already. N1 without a calibration: the choices counted
// so far decide which experts later passes have on the NPU. When they have changed enough, prepared plans that place
// experts are dropped.
void Engine::State::run_batch(PassPlans::Entry& entry, const PassTokens& pass) {
  std::ranges::copy(pass.ids, activations_->ids.as<int32_t>());
  plans_->run(entry, pass.position);
  last_batch_ = entry.batch;
  if (model_->config().experts && last_batch_.S >= kFewestTokens &&
      expert_use_->add(entry.prepared->plan(), routing(false), options_.experts.overflow))
    plans_->drop_plans_with_experts();
}

// Prepares the plans of the passes that extend() will run, with the same chunks, and runs nothing. With then_single it
// also prepares the plan of the first written token.
void Engine::State::prewarm(int64_t position, int64_t tokens, bool then_single) {
  const CompileClock compiling(*machine_);
  const int64_t total = std::min(tokens, sizes().context - position), end = position + total;
  for (const Batch& chunk : plans_->chunks_of(position, total)) {
    plans_->prepare(chunk, position);
    position += chunk.S;
  }
  if (then_single && end < sizes().context) plans_->prepare({1, 1}, end);
}

bool Engine::keep_in_place(const Logits& logits) {
  return machine().orchestrator().run([&] { return state_->logits_->keep_in_place(logits); });
}

void Engine::prewarm(int64_t position, int64_t tokens, bool then_single) {
  machine().orchestrator().run([&] { state_->prewarm(position, tokens, then_single); });
}

// A pass overwrites its intermediate values. So its operators run again one by one, until one of them writes a value
// that is not finite.
std::optional<std::string> Engine::State::where_not_finite() {
  Batch again = last_batch_;
  again.logits = logits_->next();
  return tandem::where_not_finite(plans_->operators_for(again), machine_->devices(), machine_->executor());
}

Error Engine::not_finite(int64_t position) {
  const auto where = machine().orchestrator().run([&] { return state_->where_not_finite(); });
  return {"the logits are not finite at token " + std::to_string(position),
          model().file().path() + ": " +
              (where ? "such numbers begin in " + *where : "run again operator by operator, all numbers were finite"),
          "The model file, a saved state or kept weights are damaged, or a value is beyond f16: compare the file with "
          "its source, or try --act f32 --cache-type f32"};
}

// Views of the routing that the last pass left in its buffers. In the model's last layer only tokens with logits have
// experts. If all of them were routed, these are the last rows.
std::vector<RoutedLayer> Engine::State::routing(bool every_token) const {
  const ModelConfig& config = model_->config();
  std::vector<RoutedLayer> layers;
  for (int64_t l = 0; l < config.layers && last_batch_.S > 0; ++l) {
    if (!config.has_experts(l)) continue;
    const LayerRouting& from = activations_->routing[static_cast<size_t>(l)];
    const ExpertsConfig& experts = *config.experts;
    RoutedLayer layer;
    layer.layer = l;
    const bool is_last = l + 1 == config.layers, has_all = sizes().routes_every_token;
    layer.tokens = is_last && !(every_token && has_all) ? last_batch_.logit_rows : last_batch_.S;
    layer.scores_stride = from.width;
    const int64_t begin = is_last && has_all ? last_batch_.S - layer.tokens : 0;
    const auto some = [&](const auto* rows, int64_t width) {
      return std::span(rows + begin * width, static_cast<size_t>(layer.tokens * width));
    };
    layer.scores = some(from.scores.as<const float>(), from.width);
    layer.ids = some(from.ids.as<const int32_t>(), experts.used);
    layer.weights = some(from.weights.as<const float>(), experts.used);
    for (const Operand& guess : from.guesses)
      if (std::ssize(layer.guesses) < sizes().guess_layers)
        layer.guesses.push_back(some(guess.as<const float>(), from.width));
    layers.push_back(layer);
  }
  return layers;
}

std::vector<RoutedLayer> Engine::routing() const { return state_->routing(false); }
void Engine::watch_routing(std::function<void(const RoutedPass&)> watch) { state_->watch_routing_ = std::move(watch); }
const ExpertUse& Engine::expert_use() const { return *state_->expert_use_; }
TextCache& Engine::cache() { return *state_->cache_; }
const TextCache& Engine::cache() const { return *state_->cache_; }
PassPlans& Engine::plans() { return *state_->plans_; }
const PassPlans& Engine::plans() const { return *state_->plans_; }
AcceptanceRates& Engine::draft_rates() { return state_->draft_rates_; }
LoadedModel& Engine::model() const { return *state_->model_; }
const std::shared_ptr<LoadedModel>& Engine::shared_model() const { return state_->model_; }
Machine& Engine::machine() const { return *state_->machine_; }
const TextOptions& Engine::options() const { return state_->options_; }
int64_t Engine::width() const { return state_->width(); }
const ActivationSizes& Engine::sizes() const { return state_->activations_->sizes; }
size_t Engine::activation_bytes() const { return state_->activations_->bytes(); }
const BitsContract& Engine::contract() const { return state_->contract_; }

}  // namespace tandem
