#include "engine/plan/row_cutting.h"

#include "engine/plan/token_layout.h"

namespace tandem {

std::vector<Cut> row_cutting(int64_t S, int64_t N, const CutLimits& limits) {
  return cuts_by_rows(S, N, exact_layout(S, limits), limits);
}

}  // namespace tandem
