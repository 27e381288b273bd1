#include "engine/plan/placer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sync/error.h"

namespace tandem {

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

std::span<const Operator> whole_batch(std::span<const Operator> operators) {
  constexpr int64_t kFewestTokens = 16;
  const int64_t S = tokens_of(operators.front());
  if (S < kFewestTokens) return {};
  const auto rest = std::ranges::find_if(operators, [S](const Operator& op) { return tokens_of(op) != S; });
  return operators.first(static_cast<size_t>(rest - operators.begin()));
}

void Placer::place(const Operator& op, int wanted, int fallback) {
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

void Placer::place_quietly(const Operator& op, int device) {
  const Support support = request_.devices[device].supports(op);
  if (!support.yes) {
    throw Error("an operator cannot run where the plan puts it",
                op.name + ": " + request_.devices[device].id + ": " + support.reason);
  }
  placed_.push_back({device, op});
}

void Placer::place_cut(const Operator& op, std::span<const int> devices, std::vector<double> shares) {
  const auto refuses = std::ranges::find_if(devices, [&](int device) { return !runs(device, op); });
  if (refuses != devices.end()) {
    place(op, *refuses, devices.front());
    return;
  }
  if (shares.empty()) shares.assign(devices.size(), 1.0 / static_cast<double>(devices.size()));
  if (shares.size() != devices.size() || std::abs(std::reduce(shares.begin(), shares.end()) - 1) > 1e-6) {
    throw Error(
        "the shares of a row cut must add up to 1, one share a device", op.name,
        std::to_string(devices.size()) + " devices take part, there are " + std::to_string(shares.size()) + " shares");
  }
  const MatMul& matmul = std::get<MatMul>(op.body);
  int64_t begin = 0;
  const std::vector<int64_t> ends = cut_rows(matmul.row_end, shares);
  for (size_t i = 0; i < devices.size(); begin = ends[i++]) {
    if (begin < ends[i]) place_quietly({op.name, slice_rows(matmul, begin, ends[i])}, devices[i]);
  }
}

void Placer::place_as_tensor(std::span<const Operator> operators, bool exact) {
  const std::vector<int> cutters = row_cutters(request_.devices);
  for (const Operator& op : operators) {
    const MatMul* matmul = std::get_if<MatMul>(&op.body);
    const bool is_cut =
        matmul && (!exact || std::ranges::all_of(cutters, [&](int device) { return multiplies_exactly(device, op); }));
    is_cut ? place_cut(op, cutters, request_.shares.of(*matmul)) : place_quietly(op, cutters.front());
  }
}

bool Placer::multiplies_exactly(int device, const Operator& op) const {
  const MatMul* matmul = std::get_if<MatMul>(&op.body);
  if (matmul == nullptr || !runs(device, op)) return false;
  const PackedKind kind = matmul->w.format.kind;
  return request_.devices[device].kind != DeviceKind::npu || (kind != PackedKind::f32 && kind != PackedKind::bf16);
}

bool Placer::runs(int device, const Operator& op) const { return request_.devices[device].supports(op).yes; }

Plan Placer::finish(const char* name) {
  std::vector<std::string> ids;
  for (const DeviceTraits& device : request_.devices) ids.push_back(device.id);
  Plan plan = schedule(name, std::move(ids), placed_);
  plan.notes = std::move(notes_);
  return plan;
}

}  // namespace tandem
