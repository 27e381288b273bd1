#include "engine/plan/npu_graphs.h"

#include "engine/plan/placer.h"

namespace tandem {
namespace {

// The graphs of a layout run in turn while the other device is idle, so their times add up and `both` is false.
double seconds_of(const PlanRequest& request, int npu, const Operator& op, const TokenLayout& layout) {
  double seconds = 0;
  for (const Operator& graph : graph_operators(op, layout)) seconds += request.costs.seconds(npu, graph, false);
  return seconds;
}

}  // namespace

NpuBeside npu_beside(const PlanRequest& request, const char* plan) {
  const int npu = require_device(request, DeviceRole::graphs, "an NPU", plan),
            gpu = first_with(request.devices, DeviceRole::general);
  return {npu, gpu >= 0 ? gpu
                        : require_device(request, DeviceRole::helper, "a GPU or the host device beside the NPU", plan)};
}

CutLimits cut_limits(const PlanRequest& request, int npu, const Operator& matmul) {
  return cut_limits(request.devices[static_cast<size_t>(npu)], std::get<MatMul>(matmul.body));
}

// Costs are asked only if both layouts exist and differ. A layout that leaves the buffers is empty.
TokenLayout cheaper_layout(const PlanRequest& request, int npu, const Operator& matmul) {
  const CutLimits limits = cut_limits(request, npu, matmul);
  const TokenLayout pipe = pipe_layout(tokens_of(matmul), limits), padded = padded_layout(tokens_of(matmul), limits);
  if (pipe.empty()) return padded;
  if (padded.empty() || padded == pipe || !request.costs) return pipe;
  return seconds_of(request, npu, matmul, padded) <= seconds_of(request, npu, matmul, pipe) ? padded : pipe;
}

// H1, H12: layer-level execution. Every matmul runs on the NPU, in the graphs that `graphs` lays out for it. All other
// operators run on the other device.
Plan multiply_on_npu(const PlanRequest& request, const char* name,
                     TokenLayout (*graphs)(const PlanRequest& request, int npu, const Operator& matmul)) {
  const NpuBeside on = npu_beside(request, name);
  Placer placer(request);
  for (const Operator& op : request.operators) {
    if (std::holds_alternative<MatMul>(op.body)) {
      placer.place_in_graphs(op, on.npu, on.others, graphs(request, on.npu, op));
    } else {
      placer.place_quietly(op, on.others);
    }
  }
  return placer.finish(name);
}

}  // namespace tandem
