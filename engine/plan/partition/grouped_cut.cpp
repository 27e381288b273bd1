#include "engine/plan/partition/grouped_cut.h"

#include <algorithm>

namespace tandem {
namespace {

// Each candidate asks for two predictions. Steps of a sixteenth of the rows are fine enough.
constexpr int64_t kMostCandidates = 16;

}  // namespace

// Tries cuts at whole panels, and takes the one whose slower side ends soonest. The join of both sides counts too, and
// the first device alone is the bar to beat.
int64_t best_grouped_rows(const Operator& op, const SharingCosts& costs) {
  const auto& whole = std::get<GroupedMatMul>(op.body);
  const int64_t panels = panel_count(whole.w.rows), step = std::max<int64_t>(1, panels / kMostCandidates);
  int64_t best = whole.w.rows;
  double least = costs.seconds(false, op);
  for (int64_t panel = step; panel < panels; panel += step) {
    const int64_t kept = panel * kPanelRows;
    const double first = costs.seconds(false, with_body(op, slice_rows(whole, 0, kept)));
    const double second = costs.seconds(true, with_body(op, slice_rows(whole, kept, whole.w.rows)));
    const double seconds = std::max(first, second) + costs.sync_seconds;
    if (seconds < least) least = seconds, best = kept;
  }
  return best;
}

}  // namespace tandem
