#include "engine/plan/model_clock/modelled_pass.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/graph/decoder.h"
#include "engine/model/shapes.h"
#include "engine/plan/model_clock/soc_costs.h"
#include "engine/plan/strategy.h"
#include "sync/error.h"

namespace tandem {
namespace {

ActivationSizes sizes_for(int64_t tokens, int64_t positions, int64_t expert_rows) {
  ActivationSizes sizes;
  sizes.tokens = tokens;
  // Room for the padding of any graph: twice the tokens holds the next power of two.
  sizes.rows = std::max<int64_t>(64, 2 * tokens);
  sizes.padded_logit_rows = 64;
  sizes.positions = (std::max(tokens, positions) + 63) / 64 * 64;
  sizes.context = sizes.positions;
  sizes.expert_rows = expert_rows;
  return sizes;
}

// The smallest of the profile's graph sizes that holds `tokens`. If there is none, it is `tokens` itself, and the plan
// later notes that the NPU has no such graph.
int64_t graph_of_at_least(const SocProfile& profile, int64_t tokens) {
  const auto& sizes = profile.npu.graph_tokens;
  const auto size = std::ranges::lower_bound(sizes, tokens);
  return size == sizes.end() ? tokens : *size;
}

}  // namespace

// Capacities become multiples of a size that the profile has, so that each is a number of whole graphs. The buffers get
// the most rows that the strategy's rules can ask for.
ModelledExperts experts_for(const std::string& strategy, const ModelConfig& config, const SocProfile& profile,
                            int64_t tokens, const ExpertRules& rules, std::optional<RoutingCounts> counts) {
  ModelledExperts experts{rules, std::move(counts)};
  const Strategy& chosen = find_strategy(strategy);
  if (!config.experts || !chosen.expert_rules) return experts;
  const int64_t E = config.experts->count, k = config.experts->used;
  if (experts.counts) require_experts(*experts.counts, E, k, "the model " + config.name);
  experts.rules.tiers.step = graph_of_at_least(profile, rules.tiers.step);
  check_rules(experts.rules, E);
  experts.rows = most_slots(E, k, tokens, chosen.expert_rules(experts.rules));
  return experts;
}

ShapeModel::ShapeModel(const ModelConfig& config, const PackedFormat& format, int64_t tokens, int64_t positions,
                       bool separate, ModelledExperts experts, ActType act)
    : experts_(std::move(experts)),
      model_(shape_only_model(config, format, separate)),
      activations_(model_.config, sizes_for(tokens, positions, experts_.rows), &pool_),
      act_(act) {}

// Every token goes through the last layer too, since published figures count a model's work so.
std::vector<Operator> ShapeModel::operators(int64_t S) const {
  GraphOptions options = graph_options(act_ == ActType::i8 ? ActType::i8 : ActType::f16);
  options.every_token = true;
  return build_decoder(model_, activations_, {S, 1}, options);
}

// A strategy sees a profile in the same form as a real machine: traits and costs. The clock then runs the plan, and
// adds queues, crossings and the shared memory.
ModelledPass modelled_pass(std::span<const Operator> operators, int64_t tokens, const SocProfile& profile,
                           const std::string& strategy, const ClockOptions& options, const ExpertRequest* experts) {
  const Strategy& chosen = find_strategy(strategy);
  if (chosen.lanes != nullptr || chosen.near_memory != nullptr)
    throw Error("a chip's clock has no slots for experts and no near-memory units", strategy,
                "Leave out --soc, or take another plan");
  const std::vector<DeviceTraits> traits = traits_of(profile);
  PlanRequest request{operators, traits, {}};
  request.experts = experts;
  const Dominant dominant = dominant_in(profile, tokens);
  request.costs = costs_of(profile, options, dominant);
  ModelledPass pass;
  pass.plan = chosen.make(request);
  pass.plan.dominant = dominant;
  pass.run = run_model_clock(pass.plan, profile, options);
  return pass;
}

ModelledPass ShapeModel::pass(const SocProfile& profile, const std::string& strategy, int64_t S,
                              const ClockOptions& options) const {
  const ExpertRequest experts{experts_.rules, experts_.counts ? &*experts_.counts : nullptr, activations_.expert_rows,
                              experts_.rows, activations_.projected};
  return modelled_pass(operators(S), S, profile, strategy, options, experts_.rows > 0 ? &experts : nullptr);
}

}  // namespace tandem
