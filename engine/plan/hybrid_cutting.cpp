#include "engine/plan/hybrid_cutting.h"

#include <algorithm>
#include <iterator>

#include "engine/plan/token_layout.h"

namespace tandem {

std::vector<Cut> hybrid_cutting(int64_t S, int64_t N, const CutLimits& limits) {
  std::vector<TokenLayout> layouts = layouts_of_fewer(S, limits);
  const TokenLayout padded = padded_layout(S, limits), pipe = pipe_layout(S, limits);
  if (is_padded(padded)) layouts.push_back(padded);
  if (is_padded(pipe) && pipe != padded) layouts.push_back(pipe);
  std::vector<Cut> cuts;
  for (const TokenLayout& layout : layouts)
    std::ranges::move(cuts_by_rows(S, N, layout, limits), std::back_inserter(cuts));
  return cuts;
}

}  // namespace tandem
