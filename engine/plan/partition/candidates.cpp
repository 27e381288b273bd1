#include "engine/plan/partition/candidates.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sync/error.h"

namespace tandem {
namespace {

// Whether a prompt's layout has graphs of few tokens. These graphs are made for decoding: an odd rest in a dozen of
// them reads the weights a dozen times.
bool is_broken_up(const TokenLayout& layout, int64_t S, const CutLimits& limits) {
  return layout.size() > 1 && S > limits.token_step &&
         std::ranges::any_of(layout, [&](const TokenGraph& graph) { return graph.graph_tokens < limits.token_step; });
}

// All rows on the NPU; absent without a layout.
std::optional<Cut> npu_alone(int64_t S, int64_t N, const TokenLayout& layout) {
  if (layout.empty()) return std::nullopt;
  return cut_at(S, N, layout, N);
}

}  // namespace

// H2. The graphs must add up to exactly S tokens, because a padded cut of rows is hybrid (H5).
RowCuts row_cutting(int64_t S, int64_t N, const CutLimits& limits) {
  TokenLayout layout = exact_layout(S, limits);
  return is_broken_up(layout, S, limits) ? RowCuts{} : RowCuts(S, N, std::move(layout), limits);
}

// H3: a single graph on the NPU, and the GPU has the odd rest of the tokens.
std::vector<Cut> sequence_cutting(int64_t S, int64_t N, const CutLimits& limits) {
  std::vector<Cut> cuts;
  for (const TokenLayout& layout : layouts_of_fewer(S, limits))
    if (layout.size() == 1) cuts.push_back(cut_at(S, N, layout, N));
  return cuts;
}

// H4: several graphs in turn. Both functions together list every layout of fewer tokens once.
std::vector<Cut> multi_sequence_cutting(int64_t S, int64_t N, const CutLimits& limits) {
  std::vector<Cut> cuts;
  for (const TokenLayout& layout : layouts_of_fewer(S, limits))
    if (layout.size() > 1) cuts.push_back(cut_at(S, N, layout, N));
  return cuts;
}

// A layout of all tokens without padding is no hybrid: row_cutting() lists it unless it is broken up.
std::vector<RowCuts> hybrid_cutting(int64_t S, int64_t N, const CutLimits& limits) {
  std::vector<TokenLayout> layouts = layouts_of_fewer(S, limits);
  const TokenLayout padded = padded_layout(S, limits), pipe = pipe_layout(S, limits);
  if (is_padded(padded)) layouts.push_back(padded);
  if (is_padded(pipe) && pipe != padded) layouts.push_back(pipe);
  std::vector<RowCuts> runs;
  for (TokenLayout& layout : layouts) runs.emplace_back(S, N, std::move(layout), limits);
  return runs;
}

// H6: rows in proportion to bandwidth, so that both sides end together. The result is a number of whole steps, and each
// side keeps at least one.
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

std::optional<Cut> padding(int64_t S, int64_t N, const CutLimits& limits) {
  return npu_alone(S, N, padded_layout(S, limits));
}

std::optional<Cut> pipe(int64_t S, int64_t N, const CutLimits& limits) {
  return npu_alone(S, N, pipe_layout(S, limits));
}

}  // namespace tandem
