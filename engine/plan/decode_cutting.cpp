#include "engine/plan/decode_cutting.h"

#include <algorithm>
#include <cmath>

#include "engine/plan/token_layout.h"
#include "sync/error.h"

namespace tandem {

int64_t npu_rows_of(int64_t N, int64_t row_step, const DecodeRates& rates) {
  TANDEM_CHECK(rates.gpu >= 0 && rates.npu >= 0 && rates.gpu + rates.npu > 0, "a side reads weights");
  const int64_t most_steps = (N - 1) / row_step;  // that leave the GPU some rows
  if (most_steps == 0) return 0;
  const double share = rates.npu / (rates.gpu + rates.npu);
  const int64_t steps = std::llround(share * static_cast<double>(N) / static_cast<double>(row_step));
  return std::clamp<int64_t>(steps, 1, most_steps) * row_step;
}

Cut decode_cutting(int64_t S, int64_t N, const CutLimits& limits, const DecodeRates& rates) {
  return cut_at(S, N, exact_layout(S, limits), npu_rows_of(N, limits.row_step, rates));
}

}  // namespace tandem
