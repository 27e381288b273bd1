#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/plan/strategy.h"

namespace tandem {

int64_t cut_rows(int64_t N, double share) {
  if (!(share > 0)) return N;
  if (share >= 1) return 0;
  const int64_t panels = panel_count(N);
  const int64_t first = std::llround((1 - share) * static_cast<double>(panels));
  if (first <= 0) return 0;
  return std::min(N, first * kPanelRows);
}

// H9: T = min(max(T1(p1), T2(p2)) + T_sync, T1(all), T2(all) + T_sync), over cuts at whole panels; time is proportional
// to rows.
RowCut best_row_cut(int64_t N, double t_first, double t_second, double t_sync) {
  RowCut best{0, t_first};
  if (t_second + t_sync < best.seconds) best = {1, t_second + t_sync};
  const int64_t panels = panel_count(N);
  for (int64_t first = 1; first < panels; ++first) {
    const double p1 = static_cast<double>(std::min(N, first * kPanelRows)) / static_cast<double>(N);
    const double seconds = std::max(p1 * t_first, (1 - p1) * t_second) + t_sync;
    // The middle of the panel's share, so that cut_rows() comes back to this cut.
    if (seconds < best.seconds) best = {1 - static_cast<double>(first) / static_cast<double>(panels), seconds};
  }
  return best;
}

}  // namespace tandem
