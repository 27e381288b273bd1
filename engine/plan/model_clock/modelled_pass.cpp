#include "engine/plan/model_clock/modelled_pass.h"

#include <algorithm>
#include <vector>

#include "engine/graph/decoder.h"
#include "engine/model/shapes.h"
#include "engine/plan/model_clock/soc_costs.h"
#include "engine/plan/strategy.h"

namespace tandem {
namespace {

ActivationSizes sizes_for(int64_t tokens, int64_t positions) {
  ActivationSizes sizes;
  sizes.tokens = tokens;
  // Room for the padding of any graph: twice the tokens holds the next power of two.
  sizes.rows = std::max<int64_t>(64, 2 * tokens);
  sizes.output_rows = 64;
  sizes.positions = (std::max(tokens, positions) + 63) / 64 * 64;
  sizes.context = sizes.positions;
  return sizes;
}

}  // namespace

ShapeModel::ShapeModel(const ModelConfig& config, const PackedFormat& format, int64_t tokens, int64_t positions,
                       bool separate)
    : model_(shape_only_model(config, format, separate)),
      activations_(model_.config, sizes_for(tokens, positions), &pool_) {}

std::vector<Operator> ShapeModel::operators(int64_t S) const {
  return build_decoder(model_, activations_, {S, 1}, {.round_f16 = true, .every_token = true});
}

ModelledPass modelled_pass(std::span<const Operator> operators, int64_t tokens, const SocProfile& profile,
                           const std::string& strategy, const ClockOptions& options) {
  const std::vector<DeviceTraits> traits = traits_of(profile);
  PlanRequest request{operators, traits, {}};
  const Dominant dominant = dominant_in(profile, tokens);
  request.costs = costs_of(profile, options, dominant);
  ModelledPass pass;
  pass.plan = find_strategy(strategy).make(request);
  pass.plan.dominant = dominant;
  pass.run = run_model_clock(pass.plan, profile, options);
  return pass;
}

ModelledPass ShapeModel::pass(const SocProfile& profile, const std::string& strategy, int64_t S,
                              const ClockOptions& options) const {
  return modelled_pass(operators(S), S, profile, strategy, options);
}

}  // namespace tandem
