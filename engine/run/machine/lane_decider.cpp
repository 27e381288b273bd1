#include "engine/run/machine/lane_decider.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "engine/device/operators/matmul.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {
namespace {

// The policy sees a token's experts by falling weight, of equals the lower id first.
void take_token(LaneDecider::Layer& layer, std::span<const int32_t> ids, std::span<const float> weights) {
  std::vector<size_t> order(ids.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return weights[a] > weights[b]; });
  std::vector<int32_t> sorted;
  std::vector<float> their_weights;
  for (const size_t i : order) {
    sorted.push_back(ids[i]);
    their_weights.push_back(weights[i]);
  }
  const TokenRequest request{layer.tokens++, sorted, their_weights, {}};
  layer.policy->take_token(request);
  for (size_t rank = 0; rank < sorted.size(); ++rank) layer.policy->take(request, rank);
}

std::vector<int64_t> loads_of(std::span<const int32_t> ids, size_t experts) {
  std::vector<int64_t> loads(experts);
  for (const int32_t id : ids) {
    TANDEM_CHECK(id >= 0 && static_cast<size_t>(id) < experts, "an expert of the layer");
    ++loads[static_cast<size_t>(id)];
  }
  return loads;
}

}  // namespace

LaneDecider::Layer& LaneDecider::layer_of(int64_t layer) {
  const auto found = std::ranges::find(layers_, layer, &Layer::layer);
  TANDEM_CHECK(found != layers_.end(), "a layer with experts");
  return *found;
}

ExpertCosts LaneDecider::costs() const {
  ExpertCosts costs;
  costs.cpu_fixed = costs_.host.line().fixed, costs.cpu_per_token = costs_.host.line().per_token;
  costs.gpu_fixed = costs_.gpu.line().fixed, costs.gpu_per_token = costs_.gpu.line().per_token;
  costs.transfer = costs_.link.line().fixed;
  return costs;
}

void LaneDecider::decide(const LaneRequest& request, const LaneTables& tables) {
  const double start = now_seconds();
  const std::scoped_lock lock(mutex_);
  Layer& layer = layer_of(request.layer);
  const auto k = static_cast<size_t>(request.k);
  for (size_t i = 0; i < request.ids.size(); i += k)
    take_token(layer, request.ids.subspan(i, k), request.weights.subspan(i, k));
  const ScheduleRule* rule = request.schedule.empty() ? nullptr : find_schedule_rule(request.schedule);
  TANDEM_CHECK(request.schedule.empty() || rule != nullptr, "a schedule of that name");
  const std::vector<int64_t> loads = loads_of(request.ids, layer.residents->slot_of().size());
  const LaneDecision decision = decide_lanes(loads, layer.residents->slot_of(), costs(), rule, request.sizes);
  write_decision(decision, request.ids, request.sizes.turns, tables);
  const bool is_text = std::ssize(request.ids) / request.k <= kSmallBatch;
  if (request.keeps && is_text) keep(layer, decision, loads, request, tables);
  LaneTotals& totals = is_text ? of_text_ : of_prompts_;
  const double took = now_seconds() - start;
  for (LaneTotals* each : {&totals, &pass_}) {
    count(decision, loads, *each);
    each->deciding_seconds += took;
  }
}

// A copied expert takes an empty slot, or that of the policy's victim among the experts that this pass does not use.
void LaneDecider::keep(Layer& layer, const LaneDecision& decision, std::span<const int64_t> loads,
                       const LaneRequest& request, const LaneTables& tables) {
  std::vector<int32_t> empty, may_leave;
  const std::span<const int32_t> in_slot = layer.residents->in_slot();
  for (size_t slot = 0; slot < in_slot.size(); ++slot) {
    const int32_t expert = in_slot[slot];
    if (expert < 0)
      empty.push_back(static_cast<int32_t>(slot));
    else if (loads[static_cast<size_t>(expert)] == 0)
      may_leave.push_back(expert);
  }
  const auto take_slot = [&]() -> std::optional<int32_t> {
    if (empty.empty()) {
      if (may_leave.empty()) return std::nullopt;
      const int32_t victim = layer.policy->victim(may_leave);
      std::erase(may_leave, victim);
      empty.push_back(layer.residents->slot_of()[static_cast<size_t>(victim)]);
      layer.residents->clear(empty.back());
    }
    const int32_t slot = empty.back();
    empty.pop_back();
    return slot;
  };
  for (size_t t = 0; t < static_cast<size_t>(request.sizes.turns); ++t) {
    const std::span<int32_t> table = tables.keepings[t];
    for (size_t place = 0; place < decision.moved[t].size(); ++place) {
      const std::optional<int32_t> slot = take_slot();
      if (!slot) return;
      const auto at = static_cast<size_t>(1 + 3 * table[0]++);
      table[at] = static_cast<int32_t>(place);
      table[at + 1] = *slot;
      table[at + 2] = decision.moved[t][place];
    }
  }
}

void LaneDecider::kept(int64_t layer, int32_t expert, int32_t slot) {
  const std::scoped_lock lock(mutex_);
  layer_of(layer).residents->put(expert, slot);
  ++of_text_.kept;
}

void LaneDecider::count(const LaneDecision& decision, std::span<const int64_t> loads, LaneTotals& totals) const {
  ++totals.decisions;
  totals.expected_seconds += decision.seconds;
  for (size_t e = 0; e < loads.size(); ++e) {
    if (loads[e] == 0) continue;
    totals.choices += loads[e];
    switch (decision.place[e]) {
      case ExpertPlace::slot:
        totals.in_slots += loads[e], ++totals.slot_experts;
        break;
      case ExpertPlace::landed:
        totals.landed += loads[e], ++totals.landed_experts;
        break;
      case ExpertPlace::host:
        totals.on_host += loads[e], ++totals.host_experts;
        break;
      case ExpertPlace::none:
        break;
    }
  }
}

void LaneDecider::learn(const LaneSeconds& seconds) {
  const auto number = [](int64_t count) { return static_cast<double>(count); };
  costs_.gpu.add(number(pass_.slot_experts + pass_.landed_experts), number(pass_.in_slots + pass_.landed), seconds.gpu);
  costs_.host.add(number(pass_.host_experts), number(pass_.on_host), seconds.host);
  costs_.link.add(number(pass_.landed_experts), number(pass_.landed_experts), seconds.link);
}

}  // namespace tandem
