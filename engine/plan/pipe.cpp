#include "engine/plan/pipe.h"

#include "engine/plan/token_layout.h"

namespace tandem {

std::optional<Cut> pipe(int64_t S, int64_t N, const CutLimits& limits) {
  const TokenLayout layout = pipe_layout(S, limits);
  if (layout.empty()) return std::nullopt;
  return cut_at(S, N, layout, N);
}

}  // namespace tandem
