#include "engine/run/pass_plans.h"

#include <algorithm>
#include <bit>

#include "engine/plan/lane_steps.h"
#include "engine/plan/partition/chunk_cutting.h"
#include "engine/run/cache/extension.h"
#include "engine/run/choice/contention.h"
#include "engine/run/choice/near_memory_use.h"
#include "engine/run/choice/probe.h"
#include "engine/run/machine/expert_store.h"
#include "engine/run/machine/kernel_preparation.h"
#include "engine/run/machine/lane_times.h"
#include "engine/run/pass/rebound.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {
namespace {

// C10: the plans among which `auto` chooses.
// by_layers: among them those that compute whole layers on the host.
std::vector<LanePlan> lane_plans(bool by_layers) {
  const auto rule = [](std::string_view name) { return name.empty() ? nullptr : find_schedule_rule(name); };
  std::vector<LanePlan> plans;
  for (const Strategy& strategy : strategies())
    if (strategy.among_lanes) {
      const LaneRules& rules = *strategy.lanes;
      if (rules.by_layers && !by_layers) continue;
      plans.push_back({.name = strategy.name,
                       .prompts = rule(rules.prompt_schedule),
                       .text = rule(rules.text_schedule),
                       .keeps = rules.keeps,
                       .by_layers = rules.by_layers});
    }
  return plans;
}

constexpr size_t kPreparedPlans = 30;
// Free memory is looked at so often: a page of every text's keys and values has been filled since.
constexpr int64_t kTokensBetweenLooks = 256;
// Weight of a contended pass's samples: other programs used the cores. An uncontended pass has weight 1.
constexpr double kContendedWeight = 0.25;
// Most tokens of a text in a pass that counts as text: a token and its drafts.
constexpr int64_t kMostOfText = 16;
// So many first passes of a kind with many tokens are measured. Measuring one takes a millisecond, and only few of them
// run before the next plan is chosen.
constexpr int64_t kWatchedLongPasses = 5;
// The first pass of a number of tokens takes so much longer than others, on two cores of a server. Without a list
// kernel it loads kernels of its own.
constexpr double kOpeningSeconds = 0.002, kOpeningSecondsOfKernels = 0.010;

// Every token of a text has logits, drafts too. In a prompt the last token alone has logits, and a piece of it has
// none. A pass that many texts share is text if no text reads a prompt. `eval` has longer passes with all logits.
bool is_text(const Batch& batch) {
  if (batch.logit_rows != batch.S) return false;
  return batch.trees || batch.S <= kMostOfText * std::max<int64_t>(batch.segments, 1);
}

}  // namespace

// A planner needs open devices and buffers, which an engine may still change. So rebuild() makes it later.
PassPlans::PassPlans(const LoadedModel& model, const Activations& activations, TextOptions options,
                     const Strategy* asked, const RoutingCounts* counts)
    : model_(model),
      machine_(*model.machine()),
      activations_(activations),
      options_(std::move(options)),
      asked_(asked),
      counts_(counts),
      prepared_(kPreparedPlans),
      times_(new_times()) {
  if (asked_ && asked_->near_memory)
    sides_ = sides_of(machine_.infos(), model.config(), model.model().weights, *asked_, options_.units);
  if (asked_ == nullptr && lanes() != nullptr)
    lanes()->plans().choose_among(lane_plans(model.expert_store()->host_tier() == nullptr));
  if (GraphMemory* memory = model.graph_memory()) graphs_ = std::make_unique<GraphPasses>(*memory);
}

// Times that no pass has shown yet are predicted by the planner. Trees count as many segments, which the planner
// knows by classes.
PassTimes PassPlans::new_times() {
  const auto predict = [this](int64_t tokens, int64_t position, bool has_trees) {
    const int64_t segments = has_trees ? segment_class(tokens) : 1;
    return planner().shared_seconds({tokens, tokens, segments, has_trees}, position);
  };
  return {predict, has_kernels_of_few_tokens(machine_) ? kOpeningSeconds : kOpeningSecondsOfKernels};
}

// Without a planner a machine has lost its devices: a change of devices failed, and so did the way back.
Planner& PassPlans::planner() const {
  if (!planner_)
    throw Error("nothing can be run any more", machine_.device_names(),
                "A GPU could not join, and the other devices could not be prepared again; start anew");
  return *planner_;
}

// The planner and the prepared plans borrow devices, so both go before these close.
void PassPlans::release() noexcept {
  planner_.reset();
  prepared_.clear();
}

// Times of passes belong to devices, so they begin anew with them.
void PassPlans::rebuild() {
  planner_ = std::make_unique<Planner>(PlannedModel{model_.model(), activations_, machine_.devices(), machine_.rates()},
                                       PlannerOptions{asked_, options_, counts_, sides_.get(), own_});
  times_ = new_times();
}

void PassPlans::plan_by(OwnPlanner planner) {
  if (planner && lanes() != nullptr)
    throw Error("a planner of one's own places no experts that are read while passes run", machine_.device_names(),
                "Load the model without budgets for experts");
  release();
  own_ = std::move(planner);
  rebuild();
}

// The kernels are those of this engine's own operators, with its type of activations.
void PassPlans::prepare_kernels(std::span<const Batch> batches) const {
  tandem::prepare_kernels(machine_, batches, [this](const Batch& batch) { return operators_for(batch); });
}

// A plan by name needs no estimates, so only `auto` probes. A probe runs one of the model's own matmuls.
void PassPlans::probe_devices() {
  if (!planner().chooses()) return;
  if (const auto probe = probe_of(operators_for({std::min(kProbeTokens, activations_.sizes.tokens), 1})))
    probe_unknown(machine_.devices(), *probe, machine_.executor(), machine_.rates());
}

std::vector<Operator> PassPlans::operators_for(const Batch& batch) const {
  return build_decoder(model_.model(), activations_, batch, graph_options(*options_.act));
}

// A prepared plan is kept while the version of the estimates stands. A newer version asks once whether another plan is
// better. The executor destroys the old plan after the next launch, when the devices have work.
PassPlans::Entry& PassPlans::prepare(const Batch& asked, int64_t position) {
  fit_experts(asked.S);
  const Batch batch = with_link(asked);
  Executor& executor = machine_.executor();
  const Key key{batch, planner().planned_past(batch, position)};
  if (Entry* entry = prepared_.find(key)) {
    if (entry->version != planner().version()) {
      const double start = now_seconds();
      if (auto better = planner().better_than(entry->prepared->plan(), batch, position)) {
        entry->graphs.reset();
        executor.drop(std::exchange(entry->prepared, executor.prepare(std::move(*better), true)));
        ++preparations_.plans;
        entry->ran = false;
      }
      entry->version = planner().version();
      preparations_.seconds += now_seconds() - start;
    }
    return *entry;
  }
  const double start = now_seconds();
  std::optional<Entry> entry = for_other_logits(key);
  if (!entry)
    entry = Entry{batch, executor.prepare(planner().plan_for(batch, position), true), {}, planner().version()};
  Entry& made =
      prepared_.add(key, std::move(*entry), [&](Entry evicted) { executor.drop(std::move(evicted.prepared)); });
  // H12, Online-prepare: graphs of other lengths than the NPU's sizes would be compiled for this plan. The time
  // is modelled.
  const GraphCompiles compiles = executor.compiles(*made.prepared, options_.graph_tokens);
  online_compiles_.graphs += compiles.graphs;
  online_compiles_.seconds += compiles.seconds;
  ++preparations_.plans;
  preparations_.seconds += now_seconds() - start;
  return made;
}

// A plan depends on no address, so it is made once for all buffers of logits. Its version says when it is compared.
std::optional<PassPlans::Entry> PassPlans::for_other_logits(const Key& key) {
  for (size_t other = 0; other < activations_.logits.size(); ++other) {
    Key like = key;
    like.batch.logits = other;
    const Entry* const found = other == key.batch.logits ? nullptr : prepared_.find(like);
    if (found == nullptr) continue;
    const sync::Slot *const from = activations_.logits[other].slot, *const to =
                                                                        activations_.logits[key.batch.logits].slot;
    return Entry{
        key.batch, machine_.executor().prepare(rebound(found->prepared->plan(), from, to), true), {}, found->version};
  }
  return std::nullopt;
}

// Plans have as many waves as the slots need. A look takes about a tenth of a millisecond.
void PassPlans::fit_experts(int64_t tokens) {
  const ExpertStore* const store = model_.expert_store();
  if (store == nullptr || own_) return;
  tokens_since_look_ += tokens;
  if (tokens_since_look_ >= kTokensBetweenLooks) {
    tokens_since_look_ = 0;
    model_.fit_experts();
  }
  if (std::exchange(slots_version_, store->slot_changes().version) == store->slot_changes().version) return;
  release();
  rebuild();
}

// Only a store that copies experts over a link has lanes; nullptr: there is nothing to decide.
LaneDecider* PassPlans::lanes() const {
  return model_.expert_store() != nullptr ? model_.expert_store()->lanes() : nullptr;
}

// C10, Y1, Y3: which plan with lanes. A plan that may choose has a variant that does not wait for the link, and one
// whose text copies guessed experts ahead.
Batch PassPlans::with_link(Batch batch) const {
  if (lanes() == nullptr) return batch;
  if (!divides_experts(batch)) {
    batch.link = false;
    if (asked_ == nullptr) batch.lanes = kPlanOfCopies;
    return batch;
  }
  if (asked_ == nullptr) batch.lanes = lanes()->plans().plan_for(batch.S).name;
  const Strategy& plan = asked_ ? *asked_ : strategy_of(batch.lanes);
  const bool chooses = plan.chooses_link;
  if (chooses) batch.link = lanes()->uses_link(batch.S, model_.config().experts->used);
  if (!plan.prefetches || !batch.link) return batch;
  const int64_t most = most_prefetch(batch.S);
  const bool always = options_.expert_prefetch == ExpertPrefetching::on;
  batch.prefetch = always ? most : lanes()->prefetches(batch.S, chooses, most);
  return batch;
}

// Lanes learn nothing from passes that they do not divide.
bool PassPlans::divides_experts(const Batch& batch) const {
  const int64_t choices = batch.S * model_.config().experts->used;
  return std::ranges::all_of(model_.model().weights.moving, [choices](const MovingExperts& each) {
    return each.lanes == nullptr || may_divide(each, choices);
  });
}

// Passes ask again and again for one strategy, so it is found once.
const Strategy& PassPlans::strategy_of(std::string_view name) const {
  if (latest_strategy_ == nullptr || latest_strategy_->name != name) latest_strategy_ = &find_strategy(name);
  return *latest_strategy_;
}

// Y3: text may look several layers ahead, and prompts at the next one.
int64_t PassPlans::most_prefetch(int64_t tokens) const {
  const int64_t most = activations_.sizes.prefetch_layers;
  return is_text_pass(tokens) ? most : std::min<int64_t>(most, 1);
}

// Whether to measure the next pass. Passes 1, 2, 4, 8 and so on up to 64 of a kind are measured, then every 64th. So
// measuring costs next to nothing. The engine's first pass and the first run of a plan for few tokens are not measured.
// They touch new memory, and drivers compile programs when these first run.
bool PassPlans::is_measured(Entry& entry) {
  const int64_t tokens = entry.batch.S, pass = passes_[{length_class(tokens), entry.prepared->plan().name}]++;
  const bool ran = std::exchange(entry.ran, true);
  const bool is_first = std::exchange(first_pass_, false) || (!ran && tokens <= kSmallBatch);
  const bool is_long = tokens > kSmallBatch && pass < kWatchedLongPasses;
  const bool is_turn = is_long || (pass < 64 ? std::has_single_bit(static_cast<uint64_t>(pass + 1)) : pass % 64 == 0);
  return !is_first && is_turn && options_.plan_hooks.learns;
}

// Weights are required after the pass, because a file that changed under the mapping would have made its result wrong.
void PassPlans::run(Entry& entry, int64_t position) {
  const Plan& plan = entry.prepared->plan();
  if (ExpertStore* const store = model_.expert_store()) store->begin_pass(is_text(entry.batch));
  graphs_&& uses_graphs(plan, graph_devices(plan)) ? run_in_graphs(entry, position) : run_whole(entry, position);
  model_.require_weights();
  if (entry.batch.S == 1) machine_.ran_single_token();
  ran_.add(entry.batch.S, plan.name);
}

// A measured pass teaches the planner. While it runs, a watch looks for other programs on the cores, and contended
// samples weigh less.
void PassPlans::run_whole(Entry& entry, int64_t position) {
  LaneDecider* const lanes = this->lanes();
  if (lanes) lanes->begin_pass(is_text(entry.batch));
  const double seconds = is_measured(entry) ? run_measured(entry, position) : machine_.executor().run(*entry.prepared);
  if (lanes == nullptr || !divides_experts(entry.batch)) return;
  const Strategy& ran = strategy_of(entry.prepared->plan().name);
  const bool chooses_prefetch = ran.prefetches && options_.expert_prefetch == ExpertPrefetching::automatic;
  lanes->took({entry.batch.S, model_.config().experts->used, ran.chooses_link, entry.batch.link, chooses_prefetch,
               entry.batch.prefetch, most_prefetch(entry.batch.S), entry.batch.lanes, rest_by_layers(entry, position)},
              seconds);
}

// Once for each length and version of the estimates.
double PassPlans::rest_by_layers(const Entry& entry, int64_t position) {
  if (entry.batch.lanes.empty()) return 1;
  const auto [found, is_new] = rest_by_layers_.try_emplace(length_class(entry.batch.S), RestByLayers{-1, 1});
  RestByLayers& rest = found->second;
  if (rest.version != planner().version())
    rest = {planner().version(), planner().rest_by_layers(entry.batch, position)};
  return rest.factor;
}

// Lanes and planner learn from the same spans: lanes from the copies and products of experts, the planner
// from all steps.
double PassPlans::run_measured(Entry& entry, int64_t position) {
  const ContentionWatch watch;
  PassSpans spans;
  const double seconds = machine_.executor().run(*entry.prepared, &spans);
  if (lanes() && divides_experts(entry.batch))
    lanes()->learn(lane_seconds(entry.prepared->plan(), spans), entry.batch.S, seconds);
  planner().learn(entry.prepared->plan(), entry.batch, position, spans, seconds, watch.found() ? kContendedWeight : 1);
  return seconds;
}

// Plans name devices by their ids. A device that has left the machine counts as one without graphs.
RunsGraphs PassPlans::graph_devices(const Plan& plan) const {
  RunsGraphs runs_graphs;
  for (const std::string& id : plan.devices) {
    const auto is_it = [&](const auto& device) { return device->info().id == id; };
    const auto found = std::ranges::find_if(machine_.devices(), is_it);
    runs_graphs.push_back(found != machine_.devices().end() && (*found)->info().static_graphs);
  }
  return runs_graphs;
}

// Chunks of the prompt behind this one that are too long for decode graphs. A pass that is no chunk of the last prompt
// has another pass behind it if it gets no logits.
int64_t PassPlans::chunks_behind(const Batch& batch, int64_t position) const {
  int64_t at = chunks_.position;
  for (auto length = chunks_.lengths.begin(); length != chunks_.lengths.end(); at += *length++) {
    if (at != position || *length != batch.S) continue;
    return std::count_if(length + 1, chunks_.lengths.end(), [](int64_t S) { return S > kDecodeGraphTokens; });
  }
  return batch.logit_rows > 0 ? 0 : 1;
}

// The fragments of a plan are prepared when they first run. Passes in fragments teach the planner nothing: their times
// contain waits for graphs.
void PassPlans::run_in_graphs(Entry& entry, int64_t position) {
  Executor& executor = machine_.executor();
  GraphMemory& memory = graphs_->memory();
  if (!entry.graphs) {
    const auto make = [this, &memory, &plan = entry.prepared->plan()](const GraphId& id) {
      return fragment_of(plan, memory.block_begins(), id, graph_devices(plan), options_.graph_tokens,
                         [&memory](const Operand& weight, GraphKind kind) { return memory.place(weight, kind); });
    };
    entry.graphs = std::make_unique<GraphChain>(executor, make, 2 * memory.blocks());
  }
  const auto predict = [&](int64_t tokens) {
    return planner().shared_seconds({std::min(tokens, activations_.sizes.tokens), 0}, position);
  };
  Timeline* const timeline = executor.timeline();
  const size_t first_span = timeline ? timeline->count() : 0;
  graphs_->run(*entry.graphs, {entry.batch.S, chunks_behind(entry.batch, position), predict});
  std::vector<Span> spans = memory.take_spans();
  if (!timeline) return;
  for (Span& span : spans) timeline->add(std::move(span));
  join_passes(*timeline, first_span);
}

// Other plans do not depend on where experts are, so they stay prepared.
void PassPlans::drop_plans_with_experts() {
  prepared_.erase_if([](const Entry& entry) { return !entry.prepared->plan().experts.empty(); });
}

// A later call for the same prompt finds its cut, although estimates may have changed.
std::vector<Batch> PassPlans::chunks_of(int64_t begin, int64_t total) {
  if (total <= 0) return {};
  if (chunks_.position != begin || chunks_.total != total) {
    chunks_ = {begin, total, cut_chunks(total, activations_.sizes.tokens, [&](int64_t done, int64_t S) {
                 return planner().shared_seconds({S, done + S == total ? 1 : 0}, begin + done);
               })};
  }
  std::vector<Batch> chunks;
  for (const int64_t S : chunks_.lengths) chunks.push_back({S, 0});
  chunks.back().logit_rows = 1;
  return chunks;
}

}  // namespace tandem
