#include "engine/plan/padding.h"

#include "engine/plan/token_layout.h"

namespace tandem {

std::optional<Cut> padding(int64_t S, int64_t N, const CutLimits& limits) {
  const TokenLayout layout = padded_layout(S, limits);
  if (layout.empty()) return std::nullopt;
  return cut_at(S, N, layout, N);
}

}  // namespace tandem
