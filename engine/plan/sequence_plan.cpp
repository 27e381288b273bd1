#include "engine/plan/sequence_plan.h"

#include <algorithm>
#include <cmath>

#include "engine/plan/placer.h"
#include "engine/plan/strategy.h"
#include "sync/error.h"

namespace tandem {
namespace {

struct Processors {
  int gpu = 0, npu = 0, host = 0;
};

// Of the NPU and the host beside it, who runs an operator.
int second_for(const Placer& placer, const Processors& on, const Operator& op) {
  return placer.multiplies_exactly(on.npu, op) ? on.npu : on.host;
}

int64_t tokens_of_second(const PlanRequest& request, const Placer& placer, const Processors& on,
                         std::span<const Operator> whole, int64_t S) {
  const int64_t half = S / 2 / kTokenBlock * kTokenBlock;
  double first = 0, second = 0;
  for (const Operator& op : whole) {
    first += request.costs.seconds(on.gpu, slice_tokens(op, half, S), true);
    const Operator slice = slice_tokens(op, 0, half);
    second += placer.seconds_on(second_for(placer, on, slice), slice, Padding::allowed);
  }
  if (!std::isfinite(second)) return 0;
  return balanced_tokens(S, first, second, token_limits(request.devices[on.npu], S));
}

}  // namespace

int64_t balanced_tokens(int64_t S, double seconds_first, double seconds_second, const CutLimits& limits) {
  TANDEM_CHECK(seconds_first > 0 && seconds_second > 0, "predicted times are positive");
  int64_t best = 0;
  double earliest = static_cast<double>(S) * seconds_first;
  for (const TokenLayout& layout : layouts_of_fewer(S, limits)) {
    const int64_t tokens = tokens_in(layout);
    const double end =
        std::max(static_cast<double>(S - tokens) * seconds_first, static_cast<double>(tokens) * seconds_second);
    if (end < earliest) best = tokens, earliest = end;
  }
  return best;
}

Plan sequence(const PlanRequest& request) {
  const Processors on{require_device(request, DeviceKind::gpu, "a GPU", "sequence"),
                      require_device(request, DeviceKind::npu, "an NPU", "sequence"),
                      require_device(request, DeviceKind::host, "the host beside the NPU", "sequence")};
  if (!request.devices[on.gpu].zero_copy) {
    throw Error("the plan needs a GPU that sees the host's memory: both sides write to one cache", "sequence",
                request.devices[on.gpu].id + " works on copies; use staggered or tensor");
  }
  Placer placer(request);
  const std::span<const Operator> whole = whole_batch(request.operators);
  if (!whole.empty()) {
    TANDEM_CHECK(bool(request.costs), "the plan sequence weighs operators by their predicted seconds");
    const int64_t S = tokens_of(whole.front()), cut = tokens_of_second(request, placer, on, whole, S);
    for (const Operator& op : whole) {
      if (cut > 0) {
        const Operator first_tokens = slice_tokens(op, 0, cut);
        const int second = second_for(placer, on, first_tokens);
        for (const Operator& graph : placer.graphs_on(second, first_tokens, Padding::forbidden))
          placer.place(graph, second, on.host);
      }
      placer.place_quietly(slice_tokens(op, cut, S), on.gpu);
    }
  }
  placer.place_as_tensor(request.operators.subspan(whole.size()), true);
  return placer.finish("sequence");
}

}  // namespace tandem
