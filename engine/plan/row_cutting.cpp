#include "engine/plan/row_cutting.h"

#include <algorithm>

#include "engine/plan/token_layout.h"

namespace tandem {
namespace {

// Graphs of a few tokens are there for decoding: a prompt's odd rest in a dozen of them reads the weights a dozen
// times.
bool is_broken_up(const TokenLayout& layout, int64_t S, const CutLimits& limits) {
  return layout.size() > 1 && S > limits.token_step &&
         std::ranges::any_of(layout, [&](const TokenGraph& graph) { return graph.graph_tokens < limits.token_step; });
}

}  // namespace

std::vector<Cut> row_cutting(int64_t S, int64_t N, const CutLimits& limits) {
  const TokenLayout layout = exact_layout(S, limits);
  return is_broken_up(layout, S, limits) ? std::vector<Cut>{} : cuts_by_rows(S, N, layout, limits);
}

}  // namespace tandem
