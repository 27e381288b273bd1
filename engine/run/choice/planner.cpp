#include "engine/run/choice/planner.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "engine/plan/lane_steps.h"
#include "engine/plan/placer.h"
#include "engine/plan/prediction/layer_sample.h"
#include "engine/plan/prediction/predict.h"
#include "engine/run/choice/plans_ran.h"
#include "sync/clock.h"

namespace tandem {
namespace {

// Another plan replaces the present one if it is predicted to take less than this part of its time. Predictions of two
// plans that differ by less are as good as equal.
constexpr double kWorthChanging = 0.97;
// Plans are compared on one layer, then on three. (Measured: in 2 of 78 comparisons another plan wins than with all
// thirty layers. Two and four layers give the same result and take half as long again.)
constexpr int64_t kFewLayers = 1, kMoreLayers = 3;
// A plan that takes this many times as long as the best plan on one layer is not compared on three.
constexpr double kFarBehind = 1.4;
// A batch is like another one if its number of tokens differs by at most this factor, and its depth is similar. The
// choice for one then says which plans are worth comparing for the other: those predicted to take at most kContends
// times as long as the best.
constexpr int64_t kAlikeTokens = 2;
constexpr double kContends = 1.2;
// The second best plan is seldom a tenth slower. If a tenth of a pass is shorter than a comparison of plans, the choice
// for a similar batch is good enough. The comparisons for new batches are timed. (Measured: 0.7 to 1.4 ms of a dense
// model on Zen 4, 1.8 to 4 ms of a mixture of experts on Zen 3.)
constexpr double kWonByComparing = 0.1;
constexpr double kNewestComparison = 0.25;  // its weight in the mean
constexpr double kLongestComparison = 4;    // counts as at most so many means
// Beside a card, a plan that never ran is tried if it is predicted to take less than this part of the card's time. The
// margin is wide because copies and turns through the host are not simulated.
constexpr double kWorthTrying = 0.7;

}  // namespace

// Numbers of tokens in one class share a choice. So prompts of nearly equal lengths need one comparison of plans.
int64_t length_class(int64_t S) {
  if (S <= kDecodeTokens) return kDecodeTokens;
  const int64_t step = S <= 256 ? 32 : 128;
  return (S + step - 1) / step * step;
}

Planner::Planner(PlannedModel planned, PlannerOptions options)
    : planned_(std::move(planned)), options_(std::move(options)), rates_(planned_.rates), candidates_(candidates()) {
  if (candidates_.size() == 1) {  // there is no choice
    options_.plan = candidates_.front();
    candidates_.clear();
  }
  const bool is_auto = options_.plan == nullptr;
  // Beside a card, measured times decide (choose_beside_card()), because copies and turns through the host are
  // not simulated.
  const auto alone = std::ranges::find(candidates_, std::string_view("gpu-only"), &Strategy::name);
  const std::vector<DeviceTraits> devices = traits();
  const int gpu = first_with(devices, DeviceRole::general);
  if (is_auto && alone != candidates_.end() && devices[static_cast<size_t>(gpu)].discrete) card_ = *alone;
}

bool Planner::chooses() const {
  return options_.plan == nullptr ||
         (options_.plan->may_give_way && options_.text.plan_hooks.tries_plans && options_.text.split.empty());
}

// The strategies that `auto` tries on these devices with this model. A named plan that may give way has the same
// rivals, if devices can share its work.
Planner::Strategies Planner::candidates() const {
  if (!chooses()) return {};
  // Copied experts: passes name their plan (Batch::lanes), and hybrimoe is the first of them.
  if (options_.plan == nullptr && planned_.activations.sizes.lanes.slots > 0) return {&find_strategy(kPlanOfCopies)};
  const std::vector<DeviceTraits> devices = traits();
  // Plans that share work between devices are tried only with an NPU. With two GPUs the first one runs everything,
  // unless the user names a plan.
  const bool shares = are_met({.npu = true, .cutters = 2}, devices);
  if (options_.plan != nullptr && !shares) return {};
  // Keys and values stay where they were computed. If a GPU does not share its memory, the host cannot
  // continue its texts.
  const bool gpu_keeps = std::ranges::any_of(
      devices, [](const DeviceTraits& device) { return role_of(device) == DeviceRole::general && !device.zero_copy; });
  Strategies tried;
  for (const Strategy& strategy : strategies()) {
    const bool leaves_gpu = strategy.only == DeviceRole::helper && gpu_keeps;
    const bool fits = (planned_.model.config.experts || !strategy.auto_needs.experts) && !leaves_gpu;
    if (strategy.tried_by_auto && fits && are_met(strategy.auto_needs, devices)) tried.push_back(&strategy);
  }
  return tried.empty() ? std::vector{&find_strategy("host-only")} : tried;
}

// Plans differ with the depth only by the cost of attention, which changes slowly. So depths are rounded down to steps
// of 256, and from 1,024 on to powers of two. Batches of several texts begin with steps of 64.
int64_t Planner::planned_past(const Batch& batch, int64_t position) const {
  if (!options_.own && candidates_.empty() && !options_.plan->weighs_attention) return 0;
  if (position >= 1024) return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(position)));
  const int64_t step = batch.segments > 1 && position < 256 ? 64 : 256;
  return position / step * step;
}

const Strategy& Planner::named(const Batch& batch) const {
  return batch.lanes.empty() ? *options_.plan : find_strategy(batch.lanes);
}

PassKind Planner::kind_of(std::string_view strategy, const Batch& batch, int64_t position) const {
  std::string name(strategy);
  if (options_.text.submit != Submit::ahead) name += std::string("+") + to_string(options_.text.submit);
  if (batch.segments > 1) name += "+sequences";
  if (batch.trees) name += "+trees";
  if (!batch.link) name += "+no link";
  if (batch.prefetch > 0) name += "+prefetch " + std::to_string(batch.prefetch);
  return {std::move(name), batch.S, position};
}

// Choices for single tokens are used again and again, so all plans are compared. Prompts of one length are rare, so a
// choice for a similar batch may save the comparison.
Planner::Strategies Planner::worth_comparing(const ChoiceKey& key) const {
  const auto& [tokens, past] = key;
  if (tokens <= kDecodeTokens) return candidates_;
  for (const auto& [other, choice] : chosen_) {
    const auto& [other_tokens, other_past] = other;
    const bool alike = other_tokens > kDecodeTokens && tokens <= kAlikeTokens * other_tokens &&
                       other_tokens <= kAlikeTokens * tokens && past <= 2 * other_past + 1024 &&
                       other_past <= 2 * past + 1024;
    if (!alike || choice.contenders.empty() || choice.version != rates_.version()) continue;
    // A comparison pays if a better plan may save more time than the comparison takes.
    const bool pays = kWonByComparing * choice.seconds > comparing_seconds_;
    return pays ? choice.contenders : Strategies{choice.strategy};
  }
  return candidates_;
}

// Makes and simulates each strategy's plan, for a few layers only, because thirty layers would take milliseconds. Plans
// that are not far behind are simulated for more layers. The two times give the time of all layers, since each further
// layer takes the same time.
std::vector<Planner::Offer> Planner::compare(std::span<const Strategy* const> strategies,
                                             std::span<const Operator> operators, const PlanCosts& costs,
                                             const Batch& batch, int64_t position) const {
  const int64_t layers = layers_of(operators);
  const bool sampled = layers > kFewLayers + kMoreLayers;
  const auto seconds_of = [&](const Strategy& strategy, std::span<const Operator> some) {
    return rates_.predicted_seconds(make(strategy, some, costs, batch), costs, kind_of(strategy.name, batch, position));
  };
  std::vector<Offer> offers;
  const std::vector<Operator> few = sampled ? only_layers(operators, spread_layers(kFewLayers, layers))
                                            : std::vector<Operator>(operators.begin(), operators.end());
  for (const Strategy* strategy : strategies) offers.push_back({strategy, seconds_of(*strategy, few)});
  if (sampled) {
    const std::vector<Operator> more = only_layers(operators, spread_layers(kMoreLayers, layers));
    const double far_behind = kFarBehind * std::ranges::min(offers, {}, &Offer::seconds).seconds;
    std::erase_if(offers, [&](const Offer& offer) { return offer.seconds > far_behind; });
    for (Offer& offer : offers) {
      const LayersTook of_few{kFewLayers, offer.seconds}, of_more{kMoreLayers, seconds_of(*offer.strategy, more)};
      offer.seconds = seconds_of_all(of_few, of_more, layers);
    }
  }
  for (const Offer& offer : offers)
    spdlog::debug("plan {} of {} tokens after {}: {:.3f} ms predicted", offer.strategy->name, batch.S, position,
                  offer.seconds * 1e3);
  std::ranges::stable_sort(offers, {}, &Offer::seconds);
  return offers;
}

std::optional<double> Planner::least_seconds(const Strategy& strategy, const Batch& batch, int64_t past) const {
  const auto found = least_.find(passes_of(strategy.name, batch, past));
  return found == least_.end() ? std::nullopt : std::optional(found->second);
}

Planner::Passes Planner::passes_of(std::string_view strategy, const Batch& batch, int64_t past) const {
  return {kind_of(strategy, batch, past).plan, length_class(batch.S), past};
}

// Decides by measured times if there are any. Once a plan ran, its own time says more than a prediction. A plan that
// never ran is compared by predictions alone, which leave out the same costs for both plans.
const Strategy& Planner::choose_beside_card(std::span<const Operator> operators, const PlanCosts& costs,
                                            const Batch& batch, int64_t past) const {
  const std::optional<double> alone = least_seconds(*card_, batch, past);
  if (!alone) return *card_;
  const std::vector<Offer> offers = compare(candidates_, operators, costs, batch, past);
  const auto own = std::ranges::find(offers, card_, &Offer::strategy);
  const double predicted = own != offers.end() ? own->seconds : kFarBehind * offers.front().seconds;
  const Strategy* best = card_;
  double least = 1;  // shares of the card's time; 1: the card alone
  for (const Offer& offer : offers) {
    if (offer.strategy == card_) continue;
    const std::optional<double> took = least_seconds(*offer.strategy, batch, past);
    const double share = took ? *took / *alone : offer.seconds / std::min(predicted, *alone);
    if (share < (took ? kWorthChanging : kWorthTrying) && share < least) best = offer.strategy, least = share;
  }
  spdlog::debug("beside a card, {} tokens after {}: {} is taken; the card alone took {:.3f} ms", batch.S, past,
                best->name, *alone * 1e3);
  return *best;
}

// A choice holds for batches of one length class and planned past, until version() grows. Contenders are kept only if
// all candidates were compared.
Plan Planner::plan_for(const Batch& batch, int64_t position) {
  const int64_t past = planned_past(batch, position);
  if (options_.own) return make_own(batch, past);
  if (candidates_.empty()) return make(named(batch), batch, past);
  if (card_ != nullptr) {
    const PlanCosts costs = this->costs(past);
    const std::vector<Operator> operators = this->operators(batch);
    return make(choose_beside_card(operators, costs, batch, past), operators, costs, batch);
  }
  const ChoiceKey key{length_class(batch.S), past};
  if (const auto made = chosen_.find(key); made != chosen_.end() && made->second.version == rates_.version())
    return make(*made->second.strategy, batch, past);
  const Strategies strategies = worth_comparing(key);
  if (strategies.size() == 1) return make(*strategies.front(), batch, past);
  const PlanCosts costs = this->costs(past);
  const std::vector<Operator> operators = this->operators(batch);
  const double start = now_seconds();
  const std::vector<Offer> offers = compare(strategies, operators, costs, batch, past);
  // A comparison that lost its core must not end comparisons.
  const double took = std::min(now_seconds() - start, kLongestComparison * comparing_seconds_);
  comparing_seconds_ += kNewestComparison * (took - comparing_seconds_);
  Choice choice{offers.front().strategy, rates_.version(), offers.front().seconds, {}};
  for (const Offer& offer : offers)
    if (strategies.size() == candidates_.size() && offer.seconds <= kContends * choice.seconds)
      choice.contenders.push_back(offer.strategy);
  Plan plan = make(*choice.strategy, operators, costs, batch);
  chosen_[key] = std::move(choice);
  return plan;
}

// The comparison on a few layers must favour the other plan by the margin, and then the prediction for whole plans must
// too. Without candidates only the plan's own strategy competes. It may make a better plan by newer estimates.
std::optional<Plan> Planner::better_than(const Plan& plan, const Batch& batch, int64_t position) {
  if (options_.own) return std::nullopt;  // the user's plan stays
  const int64_t past = planned_past(batch, position);
  const Strategies only = {&find_strategy(plan.name)};
  const PlanCosts costs = this->costs(past);
  const std::vector<Operator> operators = this->operators(batch);
  if (card_ != nullptr) {
    const Strategy& chosen = choose_beside_card(operators, costs, batch, past);
    return chosen.name == plan.name ? std::nullopt : std::optional(make(chosen, operators, costs, batch));
  }
  const Offer best = compare(candidates_.empty() ? only : candidates_, operators, costs, batch, past).front();
  const auto seconds_of = [&](const Plan& whole) {
    return rates_.predicted_seconds(whole, costs, kind_of(whole.name, batch, past));
  };
  const double worth_it = kWorthChanging * seconds_of(plan);
  if (best.seconds > worth_it) return std::nullopt;
  Plan better = make(*best.strategy, operators, costs, batch);
  if (seconds_of(better) > worth_it) return std::nullopt;
  chosen_[{length_class(batch.S), past}] = {best.strategy, rates_.version(), best.seconds, {}};
  return better;
}

std::vector<Operator> Planner::operators(const Batch& batch) const {
  return build_decoder(planned_.model, planned_.activations, batch,
                       graph_options(options_.text.act.value_or(ActType::f32)));
}

std::vector<DeviceTraits> Planner::traits() const {
  std::vector<DeviceTraits> traits;
  for (const auto& device : planned_.devices) {
    DeviceTraits each = traits_of(*device);
    if (each.static_graphs) each.graph_tokens = options_.text.graph_tokens;
    each.row_step = kPanelRows;  // the emulated array loses nothing by cuts finer than the paper's 256 rows
    traits.push_back(std::move(each));
  }
  return traits;
}

// A matmul takes 1 / (sum of the devices' rates), as if it were shared perfectly. Any other operator takes its time on
// the fastest device.
double Planner::shared_seconds(const Batch& batch, int64_t position) {
  const PlanCosts costs = this->costs(position);
  const std::vector<DeviceTraits> traits = this->traits();
  const std::vector<Operator> operators = this->operators(batch);
  const PlanRequest request{operators, traits, {}, options_.text.strict_device, costs};
  const Placer placer(request);
  double sum = 0;
  for (const Operator& op : operators) {
    double rate = 0, least = std::numeric_limits<double>::infinity();  // rate: of all devices together
    for (size_t d = 0; d < traits.size(); ++d) {
      if (!traits[d].supports(op).yes) continue;
      const double seconds = placer.seconds_on(static_cast<int>(d), op, Padding::allowed);
      if (traits[d].thread_of.empty()) rate += 1 / seconds;  // otherwise it uses the core of another device
      least = std::min(least, seconds);
    }
    sum += std::holds_alternative<MatMul>(op.body) && rate > 0 ? 1 / rate : least;
  }
  return sum;
}

// Operators from the fetch of a layer's experts to their sum belong to them.
double Planner::rest_by_layers(const Batch& batch, int64_t position) {
  const PlanCosts costs = this->costs(position);
  const std::vector<DeviceTraits> traits = this->traits();
  const std::vector<Operator> operators = this->operators(batch);
  const PlanRequest request{operators, traits, {}, options_.text.strict_device, costs};
  const Placer placer(request);
  const int gpu = first_with(traits, DeviceRole::general), host = first_with(traits, DeviceRole::helper);
  if (gpu < 0 || host < 0) return 1;
  const std::vector<bool> on_gpu = layers_on_gpu(planned_.model.weights.moving);
  double split = 0, together = 0;
  bool among_experts = false;
  for (const Operator& op : operators) {
    among_experts = among_experts || std::holds_alternative<ExpertFetch>(op.body);
    if (!among_experts) {
      const auto supports = [&](int d) { return traits[static_cast<size_t>(d)].supports(op).yes; };
      const bool hosted = op.layer >= 0 && !on_gpu[static_cast<size_t>(op.layer)];
      const int usual = supports(gpu) ? gpu : host;
      together += placer.seconds_on(usual, op, Padding::allowed);
      split += placer.seconds_on(hosted && supports(host) ? host : usual, op, Padding::allowed);
    }
    if (std::holds_alternative<ExpertSum>(op.body)) among_experts = false;
  }
  return together > 0 ? split / together : 1;
}

PassPositions Planner::positions_at(int64_t position) const {
  return {position, planned_.activations.positions.offset_bytes};
}

PlanCosts Planner::costs(int64_t position) const { return rates_.costs(positions_at(position)); }

Plan Planner::make(const Strategy& strategy, const Batch& batch, int64_t position) {
  return make(strategy, operators(batch), costs(position), batch);
}

// Collects everything that a strategy may ask for, and lets it make the plan. Shares of rows come from the user or from
// the solver. A single share is the NPU's, and the other device gets the rest.
Plan Planner::make(const Strategy& strategy, std::span<const Operator> operators, const PlanCosts& costs,
                   const Batch& batch) const {
  const std::vector<DeviceTraits> traits = this->traits();
  PlanRequest request{operators, traits, {}, options_.text.strict_device, costs};
  const Activations& activations = planned_.activations;
  const ExpertRequest experts{options_.text.experts, options_.counts, activations.expert_rows,
                              activations.sizes.expert_rows, activations.projected};
  if (experts.rows > 0) request.experts = &experts;
  LanesRequest lanes{planned_.model.weights.moving, activations.lanes, batch.link, {}, batch.prefetch};
  if (batch.prefetch > 0) lanes.guessed = activations.routing;
  if (activations.sizes.lanes.slots > 0) request.lanes = &lanes;
  const UnitRequest units{activations.units, options_.divider, options_.text.units.split};
  if (activations.sizes.expert_sides > 0) request.units = &units;
  if (strategy.cuts_rows && !options_.text.split.empty()) {
    request.shares.otherwise = options_.text.split;
    if (options_.text.split.size() == 1)
      request.shares.otherwise.insert(request.shares.otherwise.begin(), 1 - options_.text.split[0]);
  } else if (strategy.cuts_rows) {
    request.shares = best_row_shares(request);
  }
  Plan plan = strategy.make(request);
  choose_submit(plan, batch);
  return plan;
}

Plan Planner::make_own(const Batch& batch, int64_t past) const {
  const std::vector<Operator> operators = this->operators(batch);
  const std::vector<DeviceTraits> traits = this->traits();
  Plan plan = make_own_plan({operators, traits, {}, options_.text.strict_device, costs(past)}, options_.own);
  choose_submit(plan, batch);
  return plan;
}

void Planner::choose_submit(Plan& plan, const Batch& batch) const {
  const bool follows =
      options_.text.submit == Submit::follow || (options_.text.submit == Submit::dominant && batch.S > kDecodeTokens);
  plan.dominant = follows ? Dominant::npu : Dominant::gpu;
}

void Planner::learn(const Plan& plan, const Batch& batch, int64_t position, const PassSpans& spans, double seconds,
                    double weight) {
  spdlog::debug("plan {} of {} tokens after {}: took {:.3f} ms{}", plan.name, batch.S, position, seconds * 1e3,
                weight < 1 ? ", other programs had the cores" : "");
  const int64_t past = planned_past(batch, position);
  if (card_ != nullptr) {
    const auto [least, is_new] = least_.try_emplace(passes_of(plan.name, batch, past), seconds);
    least->second = std::min(least->second, seconds);
  }
  rates_.learn(plan, spans, kind_of(plan.name, batch, past), positions_at(position), seconds, weight);
}

}  // namespace tandem
