#include "engine/plan/partition/row_cut.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sync/error.h"

namespace tandem {
namespace {

// The number of panels for each device of `set` (one bit for each device), so that the last device ends as early as
// possible. Every panel goes to the device where it would end first. All panels take equal time on a device, so this
// greedy choice is optimal. Empty: no device of the set can run them.
std::vector<int64_t> share_panels(int64_t panels, std::span<const double> panel_seconds, uint32_t set) {
  std::vector<int64_t> taken(panel_seconds.size(), 0);
  for (int64_t p = 0; p < panels; ++p) {
    size_t best = panel_seconds.size();
    double earliest = std::numeric_limits<double>::infinity();
    for (size_t d = 0; d < panel_seconds.size(); ++d) {
      const double end = static_cast<double>(taken[d] + 1) * panel_seconds[d];
      if ((set >> d & 1) != 0 && end < earliest) best = d, earliest = end;
    }
    if (best == panel_seconds.size()) return {};
    ++taken[best];
  }
  return taken;
}

}  // namespace

// Rounds the running sum of the shares to panels, so that errors of rounding do not add up.
std::vector<int64_t> cut_rows(int64_t N, std::span<const double> shares) {
  const int64_t panels = panel_count(N);
  std::vector<int64_t> ends;
  double sum = 0;
  for (const double share : shares) {
    sum += share;
    ends.push_back(std::clamp<int64_t>(std::llround(sum * static_cast<double>(panels)) * kPanelRows, 0, N));
  }
  TANDEM_CHECK(!ends.empty() && std::abs(sum - 1) < 1e-6, "the shares of a row cut add up to 1");
  ends.back() = N;
  return ends;
}

// H9: T = min over sets of devices of max_i(T_i(p_i)) + T_sync * (joined parts), over cuts at whole panels. Time counts
// as proportional to rows. All sets of devices are tried, since each joined part costs T_sync.
RowCut best_row_cut(int64_t N, std::span<const double> seconds, double t_sync) {
  const int64_t panels = panel_count(N);
  std::vector<double> panel_seconds;
  for (const double all : seconds) panel_seconds.push_back(all / static_cast<double>(panels));
  RowCut best{{}, std::numeric_limits<double>::infinity()};
  for (uint32_t set = 1; set < 1U << seconds.size(); ++set) {
    const std::vector<int64_t> taken = share_panels(panels, panel_seconds, set);
    if (taken.empty()) continue;
    RowCut cut;
    for (size_t d = 0; d < seconds.size(); ++d) {
      cut.shares.push_back(static_cast<double>(taken[d]) / static_cast<double>(panels));
      if (taken[d] == 0) continue;
      cut.seconds = std::max(cut.seconds, static_cast<double>(taken[d]) * panel_seconds[d]);
    }
    const auto joined = std::count_if(taken.begin() + 1, taken.end(), [](int64_t part) { return part > 0; });
    cut.seconds += static_cast<double>(joined) * t_sync;
    if (cut.seconds < best.seconds) best = cut;
  }
  TANDEM_CHECK(!best.shares.empty(), "no device can run a matmul of " + std::to_string(N) + " rows");
  return best;
}

// A shape that was decided has its own shares, and others have the usual ones.
std::vector<double> RowShares::of(const MatMul& op) const {
  const auto found = by_shape.find(shape_of(op));
  return found == by_shape.end() ? otherwise : found->second;
}

}  // namespace tandem
