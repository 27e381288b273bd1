#include "engine/run/engine.h"

#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "engine/device/proof/room.h"
#include "engine/model/layer_names.h"
#include "engine/plan/partition/chunk_cutting.h"
#include "engine/plan/partition/cut.h"
#include "engine/plan/placer.h"
#include "engine/plan/prediction/gpu_prediction.h"
#include "engine/plan/schedule.h"
#include "engine/run/cache/draft_tree.h"
#include "engine/run/cache/saved_state.h"
#include "engine/run/choice/contention.h"
#include "engine/run/choice/contract.h"
#include "engine/run/choice/probe.h"
#include "engine/run/machine/kernel_set.h"
#include "engine/run/pass/not_finite.h"
#include "shaders/limits.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "sync/long_wait.h"

namespace tandem {
namespace {

constexpr int64_t kDefaultContext = 4096;
constexpr size_t kPreparedPlans = 12;
// Weight of a contended pass's samples: other programs used the cores. An uncontended pass has weight 1.
constexpr double kWeightOfDoubtful = 0.25;
// So many first passes of a kind with many tokens are measured. Measuring one takes a millisecond, and only few of them
// run before the next plan is chosen.
constexpr int64_t kWatchedLongPasses = 5;

// Page numbers of the engine's own context, which has the cache's first pages.
std::vector<int32_t> first_pages(int64_t positions) {
  std::vector<int32_t> pages(static_cast<size_t>(pages_of(positions)));
  std::iota(pages.begin(), pages.end(), 0);
  return pages;
}

// Called while no process reads the FIFO that a state is written to. Ends the wait if the caller asks for it.
WhileUnread while_unread(const Engine& engine, const std::string& path) {
  return [&engine, wait = LongWait("somebody who reads " + path)](double) mutable {
    if (engine.interrupted && engine.interrupted()) throw Engine::Interrupted();
    wait.look();
  };
}

// The number of segments that a plan is made for: a power of two, so that a few plans serve every number of runs. A
// sequence has two runs in a batch if only a part of its tokens gets logits: tokens with logits come last in a batch.
int64_t segment_class(int64_t runs) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(runs))); }
// The most segments of a pass. With trees there may be more, because each token of a tree is a run.
int64_t most_segments(int64_t sequences, bool trees) {
  static_assert(2 * kMostSequences <= TANDEM_MAX_SEGMENTS);
  if (sequences < 0 || sequences > kMostSequences)
    throw Error("so many sequences do not fit one pass", std::to_string(sequences),
                "There may be 0 to " + std::to_string(kMostSequences));
  return trees ? TANDEM_MAX_SEGMENTS : segment_class(std::max<int64_t>(1, 2 * sequences));
}

// Counts of choices from a calibration file, if one is named. Error if the file is of another model.
std::optional<RoutingCounts> calibrated_counts(const std::string& path, const GgufFile& file,
                                               const ModelConfig& config) {
  if (path.empty()) return std::nullopt;
  if (!config.experts) throw Error("the model has no experts to be calibrated", file.path(), "Leave out --calibration");
  Calibration calibration = read_calibration(path);
  require_same_model(calibration, config.name, no_counts(config), path);
  return std::move(calibration.counts);
}

// The mark of the kernels that texts of this engine need, with the program that compiles them
// (engine/run/machine/warming.h).
std::unique_ptr<Warming> warming_for(const EngineOptions& options, const GgufFile& file, ActType act) {
  const KernelsFor texts = options.sequences > 0 ? KernelsFor::many_texts : KernelsFor::one_text;
  return std::make_unique<Warming>(kernels_mark(file, read_config(file), options.kv_type, act, texts),
                                   options.warming_program);
}

bool start(Warming& warming, const EngineOptions& options, ActType act) {
  const std::string kv_type = options.kv_type == KvType::f16 ? "f16" : "f32";
  return warming.start({"warm", "-m", std::filesystem::absolute(options.model_path).string(), "--cache-type", kv_type,
                        "--act", to_string(act), "--background"});
}

// Predicts the first text's time with and without the card, from the bytes and the number of values of all tensors.
FirstText first_text(const EngineOptions& options, const GgufFile& file, const Machine& machine, const KnownGpu& card) {
  double bytes = 0, parameters = 0;
  for (const GgufTensor& tensor : file.tensors()) {
    bytes += static_cast<double>(tensor.bytes);
    parameters += std::accumulate(tensor.shape.begin(), tensor.shape.end(), 1.0, std::multiplies<>());
  }
  const auto cores = static_cast<int>(machine.layout().gpu.size() + machine.layout().npu.size());
  return predict_first_text(options.first_text, bytes, parameters, cores, card.compute_units,
                            machine.last_compile_seconds(card));
}

// Decides between waiting for the card's kernels and beginning without the card. A card computes other sums than the
// host and joins only between two texts, so a text that is long enough waits.
void begin_on_card(const KnownGpu& card, const EngineOptions& options, const GgufFile& file, Machine& machine) {
  const ActType act = options.act.value_or(ActType::f32);  // what default_act() returns for a card alone
  auto warming = warming_for(options, file, act);
  if (warming->done()) return;
  const FirstText text = first_text(options, file, machine, card);
  if (text.waits() || !start(*warming, options, act))
    machine.compile_for_card(card, std::move(warming), describe(text, card.id));
  else
    machine.wait_for_gpu(std::move(warming), describe(text, card.id), true);
}

// Begins without a GPU whose kernels for such a model are not compiled yet, while another process compiles them. If
// nothing is known about the kernels, this process does not load a driver. If the cache folder cannot keep files, no
// process compiles, and the text is written without the GPU.
// With f32 activations bits differ between plans. The text would then depend on when the GPU joins, so this process
// compiles the kernels itself.
void begin_without_kernels(const EngineOptions& options, const GgufFile& file, Machine& machine) {
  if (options.warming_program.empty() || options.plan != "auto" || !options.devices.empty() || !options.split.empty())
    return;
  if (const auto card = machine.card()) return begin_on_card(*card, options, file, machine);
  const ActType act = options.act.value_or(ActType::f16);
  if (act == ActType::f32) return;
  auto warming = warming_for(options, file, act);
  if (warming->done()) return;
  std::error_code ignored;
  std::filesystem::remove(warming->path(), ignored);  // a mark that no longer holds
  const std::string in_vain = proof::why_nothing_is_kept();
  if (!in_vain.empty())
    return machine.wait_for_gpu(
        std::move(warming), "the text is written without a GPU, for what is compiled for one cannot be kept: " +
                                in_vain + ". Name a GPU with --device to have its kernels compiled for this run alone");
  if (!start(*warming, options, act)) return;
  machine.wait_for_gpu(std::move(warming),
                       "the GPU's kernels are being compiled in the background; it joins in when they are there");
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

// An NPU rounds the inputs of matmuls to f16. If a plan may use it, the other devices round them too.
ActType default_act(const Machine& machine, const Strategy* asked) {
  const bool rounds =
      std::ranges::any_of(machine.devices(), [](const auto& device) { return device->info().rounds_to_f16; });
  return rounds && !(asked && asked->only) ? ActType::f16 : ActType::f32;
}

// The most rows that a plan may give to experts on the NPU. `auto` may use as many as the rules say, if all devices
// share one memory.
int64_t rows_for_experts(const Machine& machine, const ModelConfig& config, const Strategy* asked,
                         const ExpertRules& rules, int64_t tokens) {
  const auto& experts = config.experts;
  if (!experts || machine.first_of(DeviceKind::npu) == nullptr) return 0;
  if (asked ? !asked->expert_rules : !machine.zero_copy()) return 0;
  return most_slots(experts->count, experts->used, tokens, asked ? asked->expert_rules(rules) : rules);
}

}  // namespace

Planner& Engine::planner() const {
  if (!planner_)
    throw Error("nothing can be run any more", machine_->device_names(),
                "A GPU could not join, and the other devices could not be prepared again; start anew");
  return *planner_;
}

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
    : model_(std::move(model)),
      machine_(model_->machine()),
      options_(options),
      asked_(chosen_strategy(options.plan)),
      prepared_(kPreparedPlans) {
  if (!options_.act) options_.act = default_act(*machine_, asked_);
  other_bits_ = find_other_bits();
  if (const std::string note = note_on_act(*options_.act, matrix_formats(model_->model().weights)); !note.empty())
    diagnostics_.push_back(note);
  if (!other_bits_.empty())
    diagnostics_.push_back(fmt::format("other plans may give other bits: {}", fmt::join(other_bits_, "; ")));

  ActivationSizes sizes;
  const int64_t trained = config().context_length;
  sizes.context =
      options_.context > 0 ? options_.context : std::min(kDefaultContext, trained > 0 ? trained : kDefaultContext);
  if (config().widest_context > 0 && sizes.context > config().widest_context)
    throw Error("so long a context needs attention to a window, which this architecture does not have here",
                std::to_string(sizes.context) + " tokens",
                "Take at most " + std::to_string(config().widest_context) + " (--ctx-size)");
  sizes.positions = (sizes.context + 63) / 64 * 64;
  sizes.tokens = std::min(sizes.context, options_.chunk > 0 ? options_.chunk : kDefaultChunk);
  sizes.rows = graph_size_for(sizes.tokens, {options_.graph_tokens});
  sizes.logit_rows = std::min(std::max(options_.logit_rows, options_.sequences), sizes.tokens);
  const bool trees = options_.sequences > 0 && machine_->zero_copy();  // accept() copies within the cache
  sizes.segments = most_segments(options_.sequences, trees);
  sizes.tree_depth = trees ? kMostTreeDepth : 0;
  sizes.pages = (1 + options_.sequences) * pages_of(sizes.positions);
  sizes.padded_logit_rows = graph_size_for(sizes.logit_rows, {options_.graph_tokens});
  sizes.kv_type = options_.kv_type;
  if (config().experts) check_rules(options_.experts, config().experts->count);
  sizes.expert_rows = rows_for_experts(*machine_, config(), asked_, options_.experts, sizes.tokens);
  activations_ = std::make_unique<Activations>(config(), sizes, &machine_->pool());
  pages_ = std::make_shared<PagePool>(pages_of(sizes.positions), options_.sequences * pages_of(sizes.positions));
  expert_use_ =
      std::make_unique<ExpertUse>(config(), calibrated_counts(options_.calibration, model_->file(), config()));

  if (machine_->card_is_alone()) machine_->add_host_for(operators_for({chunk(), 1}));
  rebuild();
  if (asked_) {
    for (const std::string& note : planner_->make(*asked_, {1, 1}, 0).notes) diagnostics_.push_back(note);
  }
  machine_->add_user(*this);  // last: after an exception the destructor, which removes the user, does not run
}

std::vector<std::string> Engine::find_other_bits() const {
  auto reasons = reasons_for_other_bits(machine_->infos(), matrix_formats(model_->model().weights), *options_.act);
  if (config().experts && options_.experts.overflow == Overflow::drop)
    reasons.push_back("tokens beyond an expert's room on the NPU are dropped (--overflow drop)");
  return reasons;
}

Engine::~Engine() { machine_->remove_user(*this); }

bool Engine::accepts(std::span<const DeviceInfo* const> devices) const {
  return reasons_for_other_bits(devices, matrix_formats(model_->model().weights), *options_.act) == other_bits_;
}

bool Engine::has_text() const { return position_ > 0 || pages_->free_pages() < pages_->pages(); }

void Engine::release_prepared() noexcept {
  planner_.reset();
  prepared_.clear();
}

// Makes the planner for the machine's present devices, and compiles the kernels that every plan needs. Then it takes a
// first look at devices that have no samples.
void Engine::rebuild() {
  const CompileClock compiling(*machine_);
  other_bits_ = find_other_bits();
  planner_ =
      std::make_unique<Planner>(PlannedModel{model_->model(), *activations_, machine_->devices(), machine_->rates()},
                                PlannerOptions{asked_, options_.split, *options_.act, options_.strict_device,
                                               options_.plan_hooks.tries_plans, options_.graph_tokens, options_.submit,
                                               options_.experts, config().experts ? &expert_use_->counts() : nullptr});
  // A list kernel is compiled for a set of kernels. The set that the model's single tokens need serves every
  // plan (engine/device/opencl/list_launcher.h).
  prepare_kernels(1);
  prepare_kernels_of_lists();
  if (!planner_->chooses()) return;
  if (const auto probe = probe_of(operators_for({std::min(kProbeTokens, chunk()), 1})))
    probe_unknown(machine_->devices(), *probe, machine_->executor(), machine_->rates());
}

void Engine::prepare_kernels(int64_t tokens) { prepare_kernels(std::vector<Batch>{{tokens, 1}}); }

// Prepares one operator of each kind that the GPU supports, which compiles its kernel. `role` names what may differ
// between kernels: tensor, kind, format of the weights, number of tokens, and for attention and the cache the kind of
// batch. Plans may share an attention by parts, so the parts are prepared too.
void Engine::prepare_kernels(std::span<const Batch> batches) {
  const Device* gpu = machine_->first_of(DeviceKind::gpu);
  if (gpu == nullptr) return;
  std::set<std::string> seen;
  std::vector<Placed> placed;
  for (const Batch& batch : batches) {
    const std::string of_batch = (batch.segments > 1 ? " of many" : "") + std::string(batch.trees ? ", trees" : "");
    for (const Operator& op : operators_for(batch)) {
      const auto* matmul = std::get_if<MatMul>(&op.body);
      const auto* attention = std::get_if<Attention>(&op.body);
      const bool sees_segments = attention != nullptr || std::holds_alternative<KvAppend>(op.body);
      const std::string role = std::string(name_in_layer(op.name)) + " " + kind_name(op) + " " +
                               (matmul ? to_string(matmul->w.format) : "") + " " + std::to_string(tokens_of(op)) +
                               (sees_segments ? of_batch : "");
      if (!gpu->supports(op).yes || !seen.insert(role).second) continue;
      placed.push_back({0, op});
      if (attention == nullptr || !attention->scratch) continue;
      placed.push_back({0, with_body(op, slice_splits(*attention, 0, kAttentionShares))});
      placed.push_back({0, with_body(op, merge_of(*attention))});
    }
  }
  machine_->executor().prepare(schedule("kernels", {gpu->info().id}, placed));
}

// Prepares all passes of a few tokens together, of one text and of many. So they all use one list kernel.
void Engine::prepare_kernels_of_lists() {
  const Device* gpu = machine_->first_of(DeviceKind::gpu);
  if (gpu == nullptr || gpu->info().listed_tokens <= 1) return;
  const ActivationSizes& sizes = activations_->sizes;
  const int64_t most = std::min(gpu->info().listed_tokens, sizes.tokens),
                segments = std::min<int64_t>(2, sizes.segments);
  const bool trees = sizes.tree_depth > 0;
  std::vector<Batch> batches;
  for (int64_t S = 1; S <= most; ++S) {
    const int64_t logit_rows = std::min(S, sizes.logit_rows);
    batches.push_back({S, logit_rows, 1, false});
    batches.push_back({S, logit_rows, segments, false});
    if (trees) batches.push_back({S, logit_rows, segments, true});
  }
  prepare_kernels(batches);
}

size_t Engine::cache_bytes() const {
  size_t sum = 0;
  for (const KvCache& cache : activations_->caches)
    sum += static_cast<size_t>(cache.kv_heads * cache.capacity * (cache.head_dim + cache.head_dim_v)) *
           cache.element_bytes();
  return sum;
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

std::vector<Operator> Engine::operators_for(const Batch& batch) const {
  return build_decoder(model_->model(), *activations_, batch, graph_options(*options_.act));
}

Plan Engine::plan_for(const Batch& batch) { return planner().plan_for(batch, position_); }

// The prepared plan for this kind of pass, made if needed. If the planner has learned enough since (version()), it
// compares plans again. The prepared plan is replaced if another one is faster by a margin.
Engine::CachedPlan& Engine::prepared_for(const Batch& batch, int64_t position) {
  const PlannedFor key{batch, planner().planned_past(batch, position)};
  if (CachedPlan* cached = prepared_.find(key)) {
    if (cached->version != planner().version()) {
      if (auto better = planner().better_than(cached->prepared->plan(), batch, position)) {
        machine_->executor().drop(std::exchange(cached->prepared, machine_->executor().prepare(std::move(*better))));
        cached->ran = false;
      }
      cached->version = planner().version();
    }
    return *cached;
  }
  CachedPlan& made = prepared_.add(
      key, {batch, machine_->executor().prepare(planner().plan_for(batch, position)), planner().version()},
      [&](CachedPlan evicted) { machine_->executor().drop(std::move(evicted.prepared)); });
  const GraphCompiles compiles = machine_->executor().compiles(*made.prepared, options_.graph_tokens);
  online_compiles_.graphs += compiles.graphs;
  online_compiles_.seconds += compiles.seconds;
  return made;
}

// A page of the cache takes memory when it is first written. Error if a control group has no room for the pages of all
// sequences and of a context that ends at `end`.
void Engine::require_cache_memory(int64_t end) {
  const int64_t pages = pages_of(end) + pages_->pages() - pages_->free_pages();
  if (pages <= cache_pages_) return;
  size_t bytes = 0;
  for (const KvCache& cache : activations_->caches) bytes += cache.k_bytes() + cache.v_bytes();
  const auto more = static_cast<size_t>(pages - cache_pages_);
  machine_->pool().promise(bytes * more / static_cast<size_t>(activations_->sizes.pages), "keys and values");
  cache_pages_ = pages;
}

void Engine::pass(std::span<const int32_t> ids, const Batch& batch) {
  machine_->admit_gpu_when_warm();
  require_cache_memory(position_ + batch.S);
  CachedPlan& cached = prepared_for(batch, position_);  // before write_positions(): planning writes positions too
  write_positions(*activations_, position_, batch.S);
  run_batch(cached, ids, position_);
  position_ += batch.S;
  cached_end_ = std::max(cached_end_, position_);
}

// Runs a pass whose positions and segments are in their buffers already. position: the largest one at which a run of
// tokens begins.
void Engine::run_batch(CachedPlan& cached, std::span<const int32_t> ids, int64_t position) {
  std::memcpy(activations_->ids.as<int32_t>(), ids.data(), ids.size_bytes());
  const Batch batch = cached.batch;
  run_and_learn(cached, position);
  model_->require_weights();
  if (batch.S == 1) machine_->ran_single_token();
  plans_ran_.add(batch.S, cached.prepared->plan().name);
  last_batch_ = batch;
  if (config().experts && batch.S >= kFewestTokens) follow_experts(cached);
}

Sequence Engine::fork(const Sequence& from, int64_t most) const {
  const int64_t position = std::min(most, from.position());
  return from.fork(machine_->zero_copy() ? position : position / kCachePage * kCachePage);
}

// Copies a shared page of the cache, in all layers, before a sequence writes to it.
void Engine::copy_page(const Sequence::PageCopy& copy) {
  TANDEM_CHECK(machine_->zero_copy(), "no sequence shares a part of a page where pages cannot be copied");
  const auto move = [&copy](const KvCache& cache, const Operand& heads, int64_t width) {
    const size_t bytes = cache.page_bytes(width);
    for (int64_t head = 0; head < cache.kv_heads; ++head) {
      auto* first = heads.as<std::byte>() + static_cast<size_t>(head) * cache.head_bytes(width);
      std::memcpy(first + static_cast<size_t>(copy.to) * bytes, first + static_cast<size_t>(copy.from) * bytes, bytes);
    }
  };
  for (const KvCache& cache : activations_->caches) {
    move(cache, cache.k, cache.head_dim);
    move(cache, cache.v, cache.head_dim_v);
  }
}

std::string Engine::state_description() const {
  if (!machine_->zero_copy())
    throw Error("a text's keys and values cannot be kept in a file", machine_->device_names(),
                "They are in a device's own memory; use devices that share the host's");
  const std::string description = describe_state(model_->file(), config(), options_.kv_type, to_string(act()));
  model_->file().require_unchanged();  // the description has a hash of the file
  return description;
}

void Engine::save_state(const std::string& path, std::span<const int32_t> ids) const {
  TANDEM_CHECK(std::ssize(ids) == position_, "the tokens of the context");
  tandem::save_state(path, state_description(), ids, activations_->caches, first_pages(position_),
                     while_unread(*this, path));
}

void Engine::save_state(const std::string& path, const Sequence& sequence) const {
  const auto pages = sequence.pages().first(static_cast<size_t>(pages_of(sequence.position())));
  tandem::save_state(path, state_description(), sequence.ids(), activations_->caches, pages, while_unread(*this, path));
}

SavedState Engine::open_state(const std::string& path) const {
  SavedState state(path, state_description());
  const int64_t tokens = std::ssize(state.ids());
  if (tokens > context())
    throw Error("the saved state does not fit the context",
                path + ": " + std::to_string(tokens) + " tokens of " + std::to_string(context()),
                "Ask for a larger one with --ctx-size");
  return state;
}

std::vector<int32_t> Engine::load_state(const std::string& path) {
  const SavedState state = open_state(path);
  const int64_t tokens = std::ssize(state.ids());
  state.copy_to(activations_->caches, first_pages(tokens));
  position_ = cached_end_ = tokens;
  return state.ids();
}

Sequence Engine::load_sequence(const std::string& path) {
  const SavedState state = open_state(path);
  Sequence sequence = new_sequence();
  if (state.ids().empty()) return sequence;
  sequence.make_room(std::ssize(state.ids()));
  state.copy_to(activations_->caches, sequence.pages());
  sequence.append(state.ids());
  return sequence;
}

namespace {

// The tokens of one pass: first the tokens of all extensions that get no logits, then those that get logits.
struct PassTokens {
  std::vector<TokenRun> runs;
  std::vector<int32_t> ids;
  int64_t logit_rows = 0, position = 0;  // position: the largest one at which a run begins

  // Adds the tokens of an extension from `begin` up to `end`.
  void add(const Engine::Extension& each, int64_t begin, int64_t end) {
    const auto some = each.ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    ids.insert(ids.end(), some.begin(), some.end());
    if (each.parents.empty())
      add_text(*each.sequence, each.sequence->position() + begin, std::ssize(some));
    else
      for (int64_t token = begin; token < end; ++token) add_draft(each, static_cast<int32_t>(token));
  }
  // Tokens of a text extend the last run if they directly follow it, and begin a new run otherwise.
  void add_text(const Sequence& sequence, int64_t first, int64_t tokens) {
    if (tokens == 0) return;
    const bool goes_on = !runs.empty() && runs.back().pages.data() == sequence.pages().data() &&
                         runs.back().first_position + runs.back().tokens == first;
    if (goes_on)
      runs.back().tokens += tokens;
    else
      runs.push_back({tokens, first, sequence.pages()});
    position = std::max(position, first);
  }
  // A draft is a run of one token. Its position is its depth behind the text, and its path lists the places of its
  // ancestors. Its own place behind the text is its index in the tree.
  void add_draft(const Engine::Extension& each, int32_t token) {
    const auto behind = static_cast<int32_t>(each.sequence->position());
    TokenRun run{1, behind - 1, each.sequence->pages(), path_to(each.parents, token)};
    run.first_position += std::ssize(run.path);
    for (int32_t& at : run.path) at += behind;
    position = std::max(position, run.first_position);
    runs.push_back(std::move(run));
  }
};

PassTokens tokens_of_pass(std::span<const Engine::Extension> extensions) {
  PassTokens pass;
  for (const Engine::Extension& each : extensions) pass.add(each, 0, std::ssize(each.ids) - each.logit_rows);
  for (const Engine::Extension& each : extensions) {
    pass.add(each, std::ssize(each.ids) - each.logit_rows, std::ssize(each.ids));
    pass.logit_rows += each.logit_rows;
  }
  return pass;
}

}  // namespace

// First everything that may fail without running: checks, pages, memory and the plan. Then the pass runs, and only
// after its success the sequences take their tokens.
std::span<const float> Engine::extend(std::span<const Extension> extensions) {
  check_fits(extensions);
  machine_->admit_gpu_when_warm();
  for (const Extension& each : extensions) {
    if (const auto copy = each.sequence->make_room(std::ssize(each.ids))) copy_page(*copy);
  }
  require_cache_memory(position_);
  const PassTokens pass = tokens_of_pass(extensions);
  const bool trees = std::ranges::any_of(extensions, [](const Extension& each) { return !each.parents.empty(); });
  const Batch batch{std::ssize(pass.ids), pass.logit_rows, segment_class(std::ssize(pass.runs)), trees};
  CachedPlan& cached = prepared_for(batch, pass.position);  // before write_runs(): planning writes positions too
  write_runs(*activations_, pass.runs, batch.segments);
  run_batch(cached, pass.ids, pass.position);
  for (const Extension& each : extensions) {
    if (each.parents.empty())
      each.sequence->append(each.ids);
    else
      each.sequence->draft({{each.ids.begin(), each.ids.end()}, {each.parents.begin(), each.parents.end()}});
  }
  return {activations_->logits.as<float>(), static_cast<size_t>(pass.logit_rows * config().vocabulary)};
}

// A token of the tree lies at the place of its index behind the text. Its keys and values move forward to the place of
// its position, as in a text.
void Engine::accept(Sequence& sequence, std::span<const int32_t> path) {
  const DraftTree& tree = sequence.drafts();
  if (tree.ids.empty()) throw Error("a sequence has no tree of drafts", "accept");
  check_path(tree.parents, path);
  const auto cell = [&sequence](int64_t place) {
    return sequence.pages()[static_cast<size_t>(place / kCachePage)] * kCachePage + place % kCachePage;
  };
  std::vector<int32_t> ids;
  int64_t position = sequence.position();
  for (const int32_t token : path) {  // never backward, so no copy overwrites a cell that a later one reads
    const int64_t place = sequence.position() + token;
    if (place != position)
      for (const KvCache& cache : activations_->caches) copy_cell(cache, cell(place), cell(position));
    ids.push_back(tree.ids[static_cast<size_t>(token)]);
    ++position;
  }
  sequence.append(ids);
  sequence.rewind(position);  // releases pages that only the tree needed
}

void Engine::require_finite(std::span<const float> logits, int64_t first) {
  if (all_finite(logits)) return;
  const auto V = static_cast<size_t>(config().vocabulary);
  for (size_t row = 0; all_finite(logits.subspan(row * V, V)); ++row) ++first;
  throw not_finite(first);
}

Error Engine::not_finite(int64_t position) {
  const auto where = where_not_finite(operators_for(last_batch_), machine_->devices(), machine_->executor());
  return {"the logits are not finite at token " + std::to_string(position),
          model_->file().path() + ": " +
              (where ? "such numbers begin in " + *where : "run again operator by operator, all numbers were finite"),
          "The model file, a saved state or kept weights are damaged, or a value is beyond f16: compare the file with "
          "its source, or try --act f32 --cache-type f32"};
}

// N1 without a calibration: the choices counted so far decide which experts later passes have on the NPU. When they
// have changed enough, prepared plans that place experts are dropped.
void Engine::follow_experts(const CachedPlan& ran) {
  if (!expert_use_->add(ran.prepared->plan(), routing(), options_.experts.overflow)) return;
  prepared_.erase_if([](const CachedPlan& cached) { return !cached.prepared->plan().experts.empty(); });
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

// Runs a pass, and measures some passes of each kind: pass 1, 2, 4, 8 and so on up to 64, then every 64th, so that
// measuring costs next to nothing. The engine's first pass and the first run of a plan for few tokens are not measured.
// They touch new memory, and drivers compile programs when these first run.
void Engine::run_and_learn(CachedPlan& cached, int64_t position) {
  const int64_t pass = passes_[{length_class(cached.batch.S), cached.prepared->plan().name}]++;
  const bool ran = std::exchange(cached.ran, true);
  const bool is_first = std::exchange(first_pass_, false) || (!ran && cached.batch.S <= kSmallBatch);
  const bool is_long = cached.batch.S > kSmallBatch && pass < kWatchedLongPasses;
  const bool is_turn = is_long || (pass < 64 ? std::has_single_bit(static_cast<uint64_t>(pass + 1)) : pass % 64 == 0);
  if (is_first || !is_turn || !options_.plan_hooks.learns) {
    machine_->executor().run(*cached.prepared);
    return;
  }
  const ContentionWatch watch;
  PassSpans spans;
  const double seconds = machine_->executor().run(*cached.prepared, &spans);
  planner().learn(cached.prepared->plan(), cached.batch, position, spans, seconds,
                  watch.found() ? kWeightOfDoubtful : 1);
}

// Checks all extensions before the first one changes anything, so that an Error leaves all sequences as they are.
void Engine::check_fits(std::span<const Extension> extensions) const {
  TANDEM_CHECK(
      !extensions.empty() && std::ssize(extensions) <= options_.sequences,
      std::to_string(extensions.size()) + " sequences of " + std::to_string(options_.sequences) + " in a pass");
  std::set<const Sequence*> named;
  int64_t total = 0, logit_rows = 0, runs = 0;
  for (const Extension& each : extensions) {
    if (!named.insert(each.sequence).second) throw Error("a sequence is named twice in one pass", "extend");
    check_fits(each.ids, each.sequence->position());
    const int64_t tokens = std::ssize(each.ids);
    TANDEM_CHECK(each.logit_rows >= 0 && each.logit_rows <= tokens, "tokens that get logits");
    if (!each.parents.empty()) check_parents(each.parents, tokens);
    if (!each.parents.empty() && !machine_->zero_copy())
      throw Error("what is accepted of a tree of drafts could not be copied", machine_->device_names(),
                  "The cache is in a device's own memory; use devices that share the host's, or extend by texts");
    total += tokens;
    logit_rows += each.logit_rows;
    runs += !each.parents.empty() ? tokens : each.logit_rows > 0 && each.logit_rows < tokens ? 2 : 1;
  }
  if (runs > activations_->sizes.segments)
    throw Error("more runs of tokens than one pass takes",
                std::to_string(runs) + " of " + std::to_string(activations_->sizes.segments),
                "Each token of a tree of drafts is one; extend by pieces");
  if (logit_rows > activations_->sizes.logit_rows)
    throw Error("more logits than the engine was opened for",
                std::to_string(logit_rows) + " of " + std::to_string(activations_->sizes.logit_rows),
                "Extend by pieces");
  if (total > chunk())
    throw Error("more tokens than one pass takes", std::to_string(total) + " of " + std::to_string(chunk()),
                "Extend by pieces");
}

void Engine::check_fits(std::span<const int32_t> ids, int64_t position) const {
  const int64_t total = static_cast<int64_t>(ids.size()), V = config().vocabulary;
  TANDEM_CHECK(total > 0, "no tokens to append");
  for (int32_t id : ids) {
    if (id < 0 || id >= V) {
      throw Error("a token id is outside the vocabulary", std::to_string(id), "Ids are 0 to " + std::to_string(V - 1));
    }
  }
  if (position + total > context()) {
    throw Error("the context is full",
                std::to_string(position) + " tokens are in it, " + std::to_string(total) + " more do not fit into " +
                    std::to_string(context()),
                "Ask for a larger one with --ctx-size");
  }
}

Batch Engine::next_chunk(int64_t first, int64_t total) {
  return chunk_at(std::max<int64_t>(0, position_ - first), first, total);
}

// The cut of the last prompt is kept. So prewarm() and extend() see the same chunks, even if estimates change in
// between. Only the last chunk gets logits.
Batch Engine::chunk_at(int64_t begin, int64_t first, int64_t total) {
  if (chunks_.position != begin || chunks_.total != total) {
    chunks_ = {begin, total, cut_chunks(total, chunk(), [&](int64_t done, int64_t S) {
                 return planner().shared_seconds({S, done + S == total ? 1 : 0}, begin + done);
               })};
  }
  int64_t done = 0;
  for (const int64_t S : chunks_.lengths) {
    if (done == first) return {S, done + S == total ? 1 : 0};
    done += S;
  }
  throw Error("no pass of the prompt begins there", std::to_string(first) + " of " + std::to_string(total) + " tokens");
}

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

void Engine::prewarm(int64_t tokens, bool then_single) {
  const CompileClock compiling(*machine_);
  const int64_t total = std::min(tokens, context() - position_), end = position_ + total;
  for (int64_t first = 0; first < total;) {
    const Batch batch = chunk_at(position_, first, total);
    prepared_for(batch, position_ + first);
    first += batch.S;
  }
  if (then_single && end < context()) prepared_for(chunk_at(end, 0, 1), end);
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

void Engine::rewind(int64_t position) {
  TANDEM_CHECK(position >= 0 && position <= position_, "a context can only be shortened");
  position_ = position;
}

void Engine::resume(int64_t position) {
  TANDEM_CHECK(position >= position_ && position <= cached_end_, "nothing was ever appended there");
  position_ = position;
}

}  // namespace tandem
