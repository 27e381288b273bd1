#include "engine/plan/plan_request.h"

#include <algorithm>

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
    std::vector<double> seconds;
    for (const int device : cutters) seconds.push_back(request.costs.seconds(device, op, true));
    shares.by_shape[shape_of(*matmul)] =
        best_row_cut(matmul->row_end - matmul->row_begin, seconds, request.costs.sync_seconds).shares;
  }
  return shares;
}

}  // namespace tandem
