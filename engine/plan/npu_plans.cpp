#include "engine/plan/npu_plans.h"

#include <algorithm>
#include <string>

#include "engine/plan/part_operator.h"
#include "engine/plan/placer.h"
#include "engine/plan/strategy.h"

namespace tandem {
namespace {

struct Processors {
  int npu = 0, others = 0;
};

Processors processors_of(const PlanRequest& request, const char* plan) {
  const int npu = require_device(request, DeviceKind::npu, "an NPU", plan), gpu = device_of(request, DeviceKind::gpu);
  return {npu,
          gpu >= 0 ? gpu : require_device(request, DeviceKind::host, "a GPU or the host device beside the NPU", plan)};
}

double seconds_of(const PlanRequest& request, int npu, const Operator& op, const TokenLayout& layout) {
  double seconds = 0;
  for (const Operator& graph : graph_operators(op, layout)) seconds += request.costs.seconds(npu, graph, false);
  return seconds;
}

TokenLayout cheaper_layout(const PlanRequest& request, int npu, const Operator& op, const CutLimits& limits) {
  const TokenLayout pipe = pipe_layout(tokens_of(op), limits), padded = padded_layout(tokens_of(op), limits);
  if (pipe.empty()) return padded;
  if (padded.empty() || padded == pipe || !request.costs) return pipe;
  return seconds_of(request, npu, op, padded) <= seconds_of(request, npu, op, pipe) ? padded : pipe;
}

// layout(op, limits): the graphs of a matmul.
template <typename Layout>
Plan multiply_on_npu(const PlanRequest& request, const char* name, const Layout& layout) {
  const Processors on = processors_of(request, name);
  Placer placer(request);
  for (const Operator& op : request.operators) {
    if (const auto* matmul = std::get_if<MatMul>(&op.body)) {
      placer.place_in_graphs(op, on.npu, on.others, layout(op, cut_limits(request.devices[on.npu], *matmul)));
    } else {
      placer.place_quietly(op, on.others);
    }
  }
  return placer.finish(name);
}

}  // namespace

Plan layer(const PlanRequest& request) {
  return multiply_on_npu(request, "layer", [&](const Operator& op, const CutLimits& limits) {
    return cheaper_layout(request, device_of(request, DeviceKind::npu), op, limits);
  });
}

Plan npu_only(const PlanRequest& request) {
  const Processors on = processors_of(request, "npu-only");
  Placer placer(request);
  for (const Operator& op : request.operators) {
    if (const auto* matmul = std::get_if<MatMul>(&op.body)) {
      const CutLimits limits = cut_limits(request.devices[on.npu], *matmul);
      placer.place_in_graphs(op, on.npu, on.others, cheaper_layout(request, on.npu, op, limits));
    } else {
      placer.place(op, on.npu, on.others);
    }
  }
  return placer.finish("npu-only");
}

Plan padding_plan(const PlanRequest& request) {
  return multiply_on_npu(request, "padding", [](const Operator& op, const CutLimits& limits) {
    return padded_layout(tokens_of(op), limits);
  });
}

Plan pipe_plan(const PlanRequest& request) {
  return multiply_on_npu(
      request, "pipe", [](const Operator& op, const CutLimits& limits) { return pipe_layout(tokens_of(op), limits); });
}

Plan online(const PlanRequest& request) {
  Plan plan = multiply_on_npu(request, "online", [](const Operator& op, const CutLimits&) {
    return TokenLayout{{0, tokens_of(op), tokens_of(op)}};
  });
  const int64_t S = tokens_of(request.operators.front());
  const auto& sizes =
      request.devices[static_cast<size_t>(require_device(request, DeviceKind::npu, "an NPU", "online"))].graph_tokens;
  if (!sizes.empty() && !std::ranges::binary_search(sizes, S)) {
    plan.notes.push_back("the NPU's graphs are compiled for " + std::to_string(S) +
                         " tokens when a batch of that length first comes");
  }
  return plan;
}

Plan chunked(const PlanRequest& request) {
  return multiply_on_npu(request, "chunked", [](const Operator& op, const CutLimits& limits) {
    const int64_t S = tokens_of(op);
    return S < kFewestTokens ? padded_layout(S, limits) : chunked_layout(S, limits);
  });
}

}  // namespace tandem
