// H12, "Online-prepare": one graph of exactly S tokens, compiled when a prompt of that length first comes. A note of
// the plan says so if the NPU has no such graph.
#include <algorithm>
#include <string>

#include "engine/plan/npu_graphs.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

TokenLayout online_graphs(const PlanRequest&, int, const Operator& op) { return {{0, tokens_of(op), tokens_of(op)}}; }

Plan make_online(const PlanRequest& request) {
  Plan plan = multiply_on_npu(request, "online", online_graphs);
  const int64_t S = tokens_of(request.operators.front());
  const std::vector<int64_t>& sizes =
      request.devices[static_cast<size_t>(npu_beside(request, "online").npu)].graph_tokens;
  if (!sizes.empty() && !std::ranges::binary_search(sizes, S)) {
    plan.notes.push_back("the NPU's graphs are compiled for " + std::to_string(S) +
                         " tokens when a batch of that length first comes");
  }
  return plan;
}

}  // namespace

extern const Strategy online;
const Strategy online{
    .name = "online",
    .explains = "H12: layer, with graphs compiled for the very length",
    .make = make_online,
};

}  // namespace tandem::plans
