#include "engine/plan/multi_sequence_cutting.h"

#include "engine/plan/token_layout.h"

namespace tandem {

std::vector<Cut> multi_sequence_cutting(int64_t S, int64_t N, const CutLimits& limits) {
  std::vector<Cut> cuts;
  for (const TokenLayout& layout : layouts_of_fewer(S, limits)) {
    if (layout.size() > 1) cuts.push_back(cut_at(S, N, layout, N));
  }
  return cuts;
}

}  // namespace tandem
