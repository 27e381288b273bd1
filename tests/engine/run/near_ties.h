// Finds the places where rounding may change the choices of a mixture of experts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "engine/moe/near_ties.h"
#include "engine/run/serve/extend.h"

namespace tandem::testing {

// The first token with a choice that rounding may turn, or the number of tokens if there is none. From that token on,
// differently rounded logits may differ by more than rounding.
inline int64_t first_near_tie(Engine& engine, std::span<const int32_t> ids) {
  auto first_of_all = static_cast<int64_t>(ids.size());
  Sequence text = engine.cache().new_sequence();
  extend_all(engine, text, ids, [&](int64_t first, std::span<const float>) {
    for (const RoutedLayer& layer : engine.routing()) {
      const ExpertsConfig& experts = *engine.model().config().experts;
      for (int64_t s = 0; s < layer.tokens; ++s) {
        const auto at = static_cast<size_t>(s * layer.scores_stride);
        const auto scores = layer.scores.subspan(at, static_cast<size_t>(experts.count));
        if (router_margin(scores, router_rule(engine.model().model(), layer.layer)) < kNearTie)
          first_of_all = std::min(first_of_all, first + s);
      }
    }
  });
  return first_of_all;
}

}  // namespace tandem::testing
