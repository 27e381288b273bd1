// The ways to place a decoder's operators on devices, by name (--plan): pure functions from operators to a plan.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device.h"
#include "engine/plan/plan.h"

namespace tandem {

// What a strategy may ask about the devices; a pure view, so that plans can be made and tested without drivers.
struct DeviceTraits {
  std::string id;
  DeviceKind kind = DeviceKind::host;
  std::function<Support(const Operator&)> supports;
};

// Identifies matmuls that take the same time on a device (H7, H8: the same in every layer).
struct MatMulShape {
  std::string format;
  int64_t S = 0, K = 0, N = 0;
  auto operator<=>(const MatMulShape&) const = default;
};
MatMulShape shape_of(const MatMul& op);
std::string to_string(const MatMulShape& shape);

// Which share of a matmul's rows goes to the NPU, per shape: 0 = all GPU, 1 = all NPU.
struct RowShares {
  std::map<MatMulShape, double> npu;
  double otherwise = 0.5;
  double of(const MatMul& op) const;
};

struct PlanRequest {
  std::span<const Operator> operators;
  std::span<const DeviceTraits> devices;  // the plan's devices
  RowShares shares;                       // for the strategies that cut rows
  bool strict = false;                    // an operator that has to fall back is an Error
};

struct Strategy {
  const char* name;
  const char* explains;
  Plan (*make)(const PlanRequest& request);
};

std::span<const Strategy> strategies();
// Error listing the names when there is no such strategy.
const Strategy& find_strategy(std::string_view name);

// H2/H6: rows of an N-row matmul that the first device keeps when `share` of them goes to the second: whole panels of
// 64, and no part smaller than one panel unless it is empty.
int64_t cut_rows(int64_t N, double share);

// H9 for one row-cut, on measured times: all rows on one side take t_first and t_second seconds, both sides work at
// once, joining costs t_sync. Returns the second side's share with the least time; 0 or 1 when cutting does not pay.
struct RowCut {
  double share = 0;
  double seconds = 0;  // predicted
};
RowCut best_row_cut(int64_t N, double t_first, double t_second, double t_sync);

}  // namespace tandem
