#include "engine/plan/plan_request.h"

#include <algorithm>
#include <limits>

#include "engine/plan/roles.h"

namespace tandem {

// The order is a part of the contract. Shares of a cut are listed in it, and its first device runs everything that is
// not cut.
std::vector<int> row_cutters(std::span<const DeviceTraits> devices) {
  const DeviceRole first = first_with(devices, DeviceRole::general) >= 0 ? DeviceRole::general : DeviceRole::helper;
  std::vector<int> cutters;
  for (const DeviceRole role : {first, DeviceRole::graphs}) {
    for (size_t d = 0; d < devices.size(); ++d)
      if (role_of(devices[d]) == role) cutters.push_back(static_cast<int>(d));
  }
  return cutters;
}

RowCut cut_between(const PlanRequest& request, std::span<const int> devices, const Operator& matmul) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<double> seconds;
  for (const int device : devices) {
    const bool runs = request.devices[static_cast<size_t>(device)].supports(matmul).yes;
    seconds.push_back(runs ? request.costs.seconds(device, matmul, true) : kNever);
  }
  if (std::ranges::all_of(seconds, [](double each) { return each == kNever; })) return {{}, kNever};
  const auto& body = std::get<MatMul>(matmul.body);
  return best_row_cut(body.row_end - body.row_begin, seconds, request.costs.sync_seconds);
}

// The first matmul of a shape decides for all of them. A shape that some cutter refuses gets no shares, because its
// matmuls are not cut.
RowShares best_row_shares(const PlanRequest& request) {
  RowShares shares;
  const std::vector<int> cutters = row_cutters(request.devices);
  if (cutters.size() < 2) return shares;
  for (const Operator& op : request.operators) {
    const auto* matmul = std::get_if<MatMul>(&op.body);
    const auto runs = [&](int device) { return request.devices[static_cast<size_t>(device)].supports(op).yes; };
    if (matmul == nullptr || shares.by_shape.contains(shape_of(*matmul)) || !std::ranges::all_of(cutters, runs))
      continue;
    shares.by_shape[shape_of(*matmul)] = cut_between(request, cutters, op).shares;
  }
  return shares;
}

}  // namespace tandem
