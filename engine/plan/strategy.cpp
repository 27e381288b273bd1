#include "engine/plan/strategy.h"

#include <set>
#include <utility>

#include "sync/error.h"

namespace tandem {
namespace {

int device_of(const PlanRequest& request, DeviceKind kind) {
  for (size_t d = 0; d < request.devices.size(); ++d) {
    if (request.devices[d].kind == kind) return static_cast<int>(d);
  }
  return -1;
}

int require_device(const PlanRequest& request, DeviceKind kind, const char* what, const char* plan) {
  const int device = device_of(request, kind);
  if (device < 0) {
    throw Error(std::string("the plan needs ") + what, plan, "Name one in --device, see `tandem devices`");
  }
  return device;
}

std::vector<std::string> ids(const PlanRequest& request) {
  std::vector<std::string> names;
  for (const DeviceTraits& device : request.devices) names.push_back(device.id);
  return names;
}

// Places operators one by one; keeps each reason for a fallback once per kind of operator.
class Placer {
 public:
  explicit Placer(const PlanRequest& request) : request_(request) {}

  // On `wanted` where it is supported, else on `fallback` (-1: none).
  void place(const Operator& op, int wanted, int fallback) {
    const Support support = request_.devices[wanted].supports(op);
    if (support.yes) {
      placed_.push_back({wanted, op});
      return;
    }
    const std::string refusal = request_.devices[wanted].id + " does not run " + kind_name(op) + ": " + support.reason;
    if (request_.strict || fallback < 0 || !request_.devices[fallback].supports(op).yes) {
      throw Error("an operator cannot run where the plan puts it", op.name + ": " + refusal,
                  request_.strict ? "Leave out --strict-device to let it fall back" : "Add a device that can run it");
    }
    if (noted_.insert(refusal).second) notes_.push_back(refusal + "; it runs on " + request_.devices[fallback].id);
    placed_.push_back({fallback, op});
  }
  void place_quietly(const Operator& op, int device) {
    const Support support = request_.devices[device].supports(op);
    if (!support.yes) {
      throw Error("an operator cannot run where the plan puts it",
                  op.name + ": " + request_.devices[device].id + ": " + support.reason);
    }
    placed_.push_back({device, op});
  }
  bool runs(int device, const Operator& op) const { return request_.devices[device].supports(op).yes; }
  Plan finish(const char* name) {
    Plan plan = schedule(name, ids(request_), placed_);
    plan.notes = std::move(notes_);
    return plan;
  }

 private:
  const PlanRequest& request_;
  std::vector<Placed> placed_;
  std::set<std::string> noted_;
  std::vector<std::string> notes_;
};

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

// H2, H6: every matmul cut by rows between GPU and NPU, everything else on the GPU.
Plan tensor(const PlanRequest& request) {
  const int npu = require_device(request, DeviceKind::npu, "an NPU", "tensor");
  const int gpu = fallback_device(request, "tensor");
  Placer placer(request);
  for (const Operator& op : request.operators) {
    const MatMul* matmul = std::get_if<MatMul>(&op.body);
    if (!matmul) {
      placer.place_quietly(op, gpu);
      continue;
    }
    if (!placer.runs(npu, op)) {
      placer.place(op, npu, gpu);
      continue;
    }
    const int64_t cut = cut_rows(matmul->row_end, request.shares.of(*matmul));
    if (cut > 0) placer.place_quietly({op.name, slice_rows(*matmul, 0, cut)}, gpu);
    if (cut < matmul->row_end) placer.place_quietly({op.name, slice_rows(*matmul, cut, matmul->row_end)}, npu);
  }
  return placer.finish("tensor");
}

constexpr Strategy kStrategies[] = {
    {"gpu-only", "every operator on the GPU", gpu_only},
    {"npu-only", "every operator on the NPU; what it cannot run falls back to the GPU, and is named", npu_only},
    {"host-only", "every operator on the host's plain loops", host_only},
    {"layer", "H1: matmuls on the NPU, everything else on the GPU", layer},
    {"tensor", "H2/H6: each matmul cut by output rows between GPU and NPU, in the measured ratio (or --split)", tensor},
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

double RowShares::of(const MatMul& op) const {
  const auto found = npu.find(shape_of(op));
  return found == npu.end() ? otherwise : found->second;
}

}  // namespace tandem
