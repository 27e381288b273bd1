#include "engine/plan/strategy.h"

#include <algorithm>
#include <utility>

#include "engine/plan/placer.h"
#include "engine/plan/sequence_cut.h"
#include "engine/plan/staggered.h"
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

int fallback_device(const PlanRequest& request, const char* name) {
  const int gpu = device_of(request, DeviceKind::gpu);
  return gpu >= 0 ? gpu : require_device(request, DeviceKind::host, "a GPU or the host device beside the NPU", name);
}

Plan npu_only(const PlanRequest& request) {
  const int npu = require_device(request, DeviceKind::npu, "an NPU", "npu-only");
  const int fallback = fallback_device(request, "npu-only");
  Placer placer(request);
  for (const Operator& op : request.operators) placer.place(op, npu, fallback);
  return placer.finish("npu-only");
}

// H1: each operator on its best processor: matmuls on the NPU, everything else on the GPU.
Plan layer(const PlanRequest& request) {
  const int npu = require_device(request, DeviceKind::npu, "an NPU", "layer");
  const int gpu = fallback_device(request, "layer");
  Placer placer(request);
  for (const Operator& op : request.operators) {
    const bool matmul = std::holds_alternative<MatMul>(op.body);
    if (matmul) {
      placer.place(op, npu, gpu);
    } else {
      placer.place_quietly(op, gpu);
    }
  }
  return placer.finish("layer");
}

// H2, H6: every matmul cut by rows between the GPUs and the NPU, everything else on the first GPU.
Plan tensor(const PlanRequest& request) {
  const std::vector<int> cutters = row_cutters(request.devices);
  if (cutters.size() < 2) {
    throw Error("the plan needs two devices to cut rows between, an NPU beside a GPU or two GPUs", "tensor",
                "Name them in --device, see `tandem devices`");
  }
  Placer placer(request);
  placer.place_as_tensor(request.operators, false);
  return placer.finish("tensor");
}

constexpr Strategy kStrategies[] = {
    {"gpu-only", "every operator on the GPU", gpu_only},
    {"npu-only", "every operator on the NPU; what it cannot run falls back to the GPU, and is named", npu_only},
    {"host-only", "every operator on the host's plain loops", host_only},
    {"layer", "H1: matmuls on the NPU, everything else on the GPU", layer},
    {"tensor", "H2/H6: each matmul cut by output rows between GPUs and NPU, in the measured ratio (or --split)", tensor,
     true},
    {"staggered",
     "tensor, with a prompt in two halves some stages apart: the NPU multiplies for one while the GPU does the other's "
     "norms, rotation and attention",
     staggered, true, true},
    {"sequence",
     "H3 with whole layers: a prompt's first tokens on the NPU and the host core beside it, the rest on the GPU; "
     "single tokens as tensor",
     sequence, true, true},
};

}  // namespace

std::span<const Strategy> strategies() { return kStrategies; }

const Strategy& find_strategy(std::string_view name) {
  std::string names;
  for (const Strategy& strategy : kStrategies) {
    if (name == strategy.name) return strategy;
    names += (names.empty() ? "" : ", ") + std::string(strategy.name);
  }
  throw Error("unknown plan", std::string(name), "Use one of: " + names + ", auto (`--plan list` explains them)");
}

MatMulShape shape_of(const MatMul& op) { return {to_string(op.w.format), op.S, op.K, op.row_end - op.row_begin}; }

std::string to_string(const MatMulShape& shape) {
  return shape.format + " S" + std::to_string(shape.S) + " K" + std::to_string(shape.K) + " N" +
         std::to_string(shape.N);
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
