#include "engine/plan/strategy.h"

#include <algorithm>
#include <utility>

#include "engine/plan/npu_plans.h"
#include "engine/plan/placer.h"
#include "engine/plan/sequence_plan.h"
#include "engine/plan/staggered.h"
#include "engine/plan/tensor_plan.h"
#include "sync/error.h"

namespace tandem {
namespace {

Plan all_on(const PlanRequest& request, DeviceKind kind, const char* what, const char* name) {
  const int device = require_device(request, kind, what, name);
  Placer placer(request);
  for (const Operator& op : request.operators) placer.place(op, device, -1);
  return placer.finish(name);
}

Plan gpu_only(const PlanRequest& request) { return all_on(request, DeviceKind::gpu, "a GPU", "gpu-only"); }
Plan host_only(const PlanRequest& request) { return all_on(request, DeviceKind::host, "the host device", "host-only"); }

constexpr Strategy kStrategies[] = {
    {"gpu-only", "every operator on the GPU", gpu_only},
    {"npu-only", "every operator on the NPU; what it cannot run falls back to the GPU, and is named", npu_only, false,
     true},
    {"host-only", "every operator on the host's plain loops", host_only},
    {"layer", "H1: matmuls on the NPU, everything else on the GPU", layer, false, true},
    {"tensor", "H2-H6, H9: each matmul on GPU, NPU or both, cut as the solver predicts the least time", tensor, true,
     true, true},
    {"rows", "H2/H6: each matmul cut by output rows between GPUs and NPU, in the measured ratio (or --split)", rows,
     true, false, true},
    {"staggered",
     "tensor, with a prompt in two halves some stages apart: the NPU multiplies for one while the GPU does the other's "
     "norms, rotation and attention",
     staggered, true, true, true},
    {"sequence",
     "H3 with whole layers: a prompt's first tokens on the NPU and the host core beside it, the rest on the GPU; "
     "single tokens as tensor",
     sequence, true, true, true},
    {"padding", "H12: layer, each matmul padded to the NPU's next size", padding_plan},
    {"pipe", "H12: layer, each matmul in several of the NPU's sizes in turn, the margin padded", pipe_plan},
    {"online", "H12: layer, with graphs compiled for the very length", online},
    {"chunked", "H12: layer, a prompt's matmuls in chunks of one size, the last one padded", chunked},
};

}  // namespace

std::span<const Strategy> strategies() { return kStrategies; }

const Strategy& find_strategy(std::string_view name) {
  const auto found = std::ranges::find(kStrategies, name, [](const Strategy& s) { return std::string_view(s.name); });
  if (found != std::end(kStrategies)) return *found;
  std::string names;
  for (const Strategy& strategy : kStrategies) names += (names.empty() ? "" : ", ") + std::string(strategy.name);
  throw Error("unknown plan", std::string(name), "Use one of: " + names + ", auto (`--plan list` explains them)");
}

std::vector<double> RowShares::of(const MatMul& op) const {
  const auto found = by_shape.find(shape_of(op));
  return found == by_shape.end() ? otherwise : found->second;
}

std::vector<int> row_cutters(std::span<const DeviceTraits> devices) {
  const bool has_gpu =
      std::ranges::any_of(devices, [](const DeviceTraits& device) { return device.kind == DeviceKind::gpu; });
  std::vector<int> cutters;
  for (const DeviceKind kind : {has_gpu ? DeviceKind::gpu : DeviceKind::host, DeviceKind::npu}) {
    for (size_t d = 0; d < devices.size(); ++d)
      if (devices[d].kind == kind) cutters.push_back(static_cast<int>(d));
  }
  return cutters;
}

}  // namespace tandem
