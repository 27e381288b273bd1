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
#include "engine/plan/costs.h"
#include "engine/plan/matmul_shape.h"
#include "engine/plan/plan.h"

namespace tandem {

// What a strategy may ask about the devices; a pure view, so that plans can be made and tested without drivers.
struct DeviceTraits {
  std::string id;
  DeviceKind kind = DeviceKind::host;
  std::function<Support(const Operator&)> supports;
  bool zero_copy = true;  // sees the host's memory, caches too
  // NPU: tokens of the graphs that were compiled beforehand, rising; empty: any. Steps of the solver's cuts
  // (CutLimits).
  std::vector<int64_t> graph_tokens{};
  int64_t row_step = 256, token_step = 32;
};

// Which share of a matmul's rows each of row_cutters() takes, in their order, per shape. The shares of one matmul add
// up to 1.
struct RowShares {
  std::map<MatMulShape, std::vector<double>> by_shape;
  std::vector<double> otherwise;                   // of shapes that are not in the map; empty: equal parts
  std::vector<double> of(const MatMul& op) const;  // empty: equal parts
};

struct PlanRequest {
  std::span<const Operator> operators;
  std::span<const DeviceTraits> devices;  // the plan's devices
  RowShares shares;                       // for the strategies that cut rows
  bool strict = false;                    // an operator that has to fall back is an Error
  PlanCosts costs{};                      // for the strategies that weigh operators against each other
};

// The devices that matmuls are cut between, as indices: every GPU in order (the host where there is none), then every
// NPU. The first one also runs what is not a matmul.
std::vector<int> row_cutters(std::span<const DeviceTraits> devices);

struct Strategy {
  const char* name;
  const char* explains;
  Plan (*make)(const PlanRequest& request);
  bool cuts_rows = false;         // asks request.shares
  bool weighs = false;            // asks request.costs
  bool weighs_attention = false;  // asks them of attention too: the plan depends on the positions
};

std::span<const Strategy> strategies();
// Error listing the names when there is no such strategy.
const Strategy& find_strategy(std::string_view name);

// H2/H6: where to cut N rows for devices that take the given shares (they add up to 1; empty: equal parts): entry i is
// the end of device i's rows, which begin where those of device i-1 end. Whole panels of 64; a part may be empty.
std::vector<int64_t> cut_rows(int64_t N, std::span<const double> shares);

// H9 for row cuts, on measured times: device i takes seconds[i] for all rows (infinite: cannot), all parts run at once,
// and every part beyond the first device's own costs t_sync to join. Returns the shares with the least time; those of
// devices that do not pay are 0.
struct RowCut {
  std::vector<double> shares;
  double seconds = 0;  // predicted
};
RowCut best_row_cut(int64_t N, std::span<const double> seconds, double t_sync);
// The same for every matmul that all of row_cutters() run, by what request.costs says each takes beside the others.
RowShares best_row_shares(const PlanRequest& request);

}  // namespace tandem
