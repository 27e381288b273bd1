#include "engine/plan/strategy.h"

#include <algorithm>
#include <cmath>
#include <numeric>
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

// H2, H6: every matmul cut by rows between the GPUs and the NPU, everything else on the first GPU.
Plan tensor(const PlanRequest& request) {
  const std::vector<int> cutters = row_cutters(request.devices);
  if (cutters.size() < 2) {
    throw Error("the plan needs two devices to cut rows between, an NPU beside a GPU or two GPUs", "tensor",
                "Name them in --device, see `tandem devices`");
  }
  Placer placer(request);
  for (const Operator& op : request.operators) {
    const MatMul* matmul = std::get_if<MatMul>(&op.body);
    if (!matmul) {
      placer.place_quietly(op, cutters.front());
      continue;
    }
    // A cutter that refuses the matmul is named, and all of it falls back to the first one.
    const auto refuses = std::ranges::find_if(cutters, [&](int device) { return !placer.runs(device, op); });
    if (refuses != cutters.end()) {
      placer.place(op, *refuses, cutters.front());
      continue;
    }
    std::vector<double> shares = request.shares.of(*matmul);
    if (shares.empty()) shares.assign(cutters.size(), 1.0 / static_cast<double>(cutters.size()));
    if (shares.size() != cutters.size() || std::abs(std::reduce(shares.begin(), shares.end()) - 1) > 1e-6) {
      throw Error("the shares of a row cut must add up to 1, one share a device", "tensor",
                  std::to_string(cutters.size()) + " devices take part, there are " + std::to_string(shares.size()) +
                      " shares");
    }
    int64_t begin = 0;
    const std::vector<int64_t> ends = cut_rows(matmul->row_end, shares);
    for (size_t i = 0; i < cutters.size(); begin = ends[i++]) {
      if (begin < ends[i]) placer.place_quietly({op.name, slice_rows(*matmul, begin, ends[i])}, cutters[i]);
    }
  }
  return placer.finish("tensor");
}

constexpr Strategy kStrategies[] = {
    {"gpu-only", "every operator on the GPU", gpu_only},
    {"npu-only", "every operator on the NPU; what it cannot run falls back to the GPU, and is named", npu_only},
    {"host-only", "every operator on the host's plain loops", host_only},
    {"layer", "H1: matmuls on the NPU, everything else on the GPU", layer},
    {"tensor", "H2/H6: each matmul cut by output rows between GPUs and NPU, in the measured ratio (or --split)",
     tensor},
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
