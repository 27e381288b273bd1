// Draws made-up routing, for studies of models whose weights are not here. The seed decides everything, so results can
// be repeated.
#include "engine/moe/routing_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/moe/draw.h"
#include "engine/moe/weighted_pick.h"
#include "sync/error.h"

namespace tandem {
namespace {

// Popularities are log-normal: the larger popularity_sigma is, the more a few experts dominate.
std::vector<double> popularities(const RoutingModel& model, int64_t E, Draw& draw) {
  std::vector<double> of_experts(static_cast<size_t>(E));
  std::ranges::generate(of_experts, [&] { return std::exp(model.popularity_sigma * draw.normal()); });
  return of_experts;
}

// One token's k different experts, each in proportion to its weight among those not yet chosen.
void choose(std::vector<double> weights, int64_t k, Draw& draw, ExpertCounts& counts) {
  for (int64_t choice = 0; choice < k; ++choice) {
    const size_t expert = weighted_pick(weights, draw.uniform() * std::reduce(weights.begin(), weights.end()));
    ++counts[expert];
    weights[expert] = 0;
  }
}

std::vector<int64_t> numbered(int64_t layers) {
  std::vector<int64_t> numbers(static_cast<size_t>(layers));
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  return numbers;
}

}  // namespace

// A layer's popularities are drawn once. Each chunk then shakes them a little before its tokens choose.
std::vector<RoutingCounts> drawn_chunks(const RoutingModel& model, int64_t E, int64_t k, int64_t layers, int64_t B,
                                        int64_t chunks) {
  Draw draw(model.seed);
  std::vector<std::vector<double>> of_layers;
  for (int64_t l = 0; l < layers; ++l) of_layers.push_back(popularities(model, E, draw));
  std::vector<RoutingCounts> drawn;
  for (int64_t c = 0; c < chunks; ++c) {
    RoutingCounts counts = empty_counts(E, k, numbered(layers));
    counts.tokens = B;
    for (size_t l = 0; l < of_layers.size(); ++l) {
      std::vector<double> weights = of_layers[l];
      for (double& weight : weights) weight *= std::exp(model.chunk_sigma * draw.normal());
      for (int64_t token = 0; token < B; ++token) choose(weights, k, draw, counts.counts[l]);
    }
    drawn.push_back(std::move(counts));
  }
  return drawn;
}

// Places the experts by the first counts, then fills the places with the choices of the other chunks.
RoomUse room_use(const RoutingCounts& planned_on, const std::vector<RoutingCounts>& chunks, int64_t expert_bytes,
                 ExpertRules rules) {
  TANDEM_CHECK(!chunks.empty(), "rooms for no chunk");
  // Room is judged for all experts, so every group counts as resident.
  rules.residency = ResidencyRule::all;
  SlotUse sum;
  for (size_t l = 0; l < planned_on.counts.size(); ++l) {
    const std::vector<double> loads = expected_loads(planned_on.counts[l], planned_on.used, chunks.front().tokens);
    const ExpertPlacement placement =
        place_experts(loads, planned_on.used, chunks.front().tokens, expert_bytes, rules, {});
    for (const RoutingCounts& chunk : chunks) {
      const SlotUse use = slot_use(placement.resident, chunk.counts[l]);
      sum.slots += use.slots;
      sum.valid += use.valid;
      sum.overflow += use.overflow;
    }
  }
  const auto choices = static_cast<double>(sum.valid + sum.overflow);
  if (choices == 0) return {};
  return {static_cast<double>(sum.overflow) / choices, sum.padded_share(), static_cast<double>(sum.slots) / choices};
}

}  // namespace tandem
