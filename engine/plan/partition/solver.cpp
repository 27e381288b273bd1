#include "engine/plan/partition/solver.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <span>

#include "engine/plan/partition/candidates.h"
#include "engine/plan/partition/row_search.h"
#include "engine/plan/partition/token_layout.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr size_t kKinds = static_cast<size_t>(CutKind::hybrid) + 1;

// Keeps the best cut of every kind, so that reports can compare the chosen cut with the alternatives.
class BestOfEachKind {
 public:
  // Between equal times, the first one that was offered stays.
  void offer(Priced priced) {
    std::optional<Priced>& best = best_[static_cast<size_t>(priced.cut.kind)];
    if (!best || priced.seconds < best->seconds) best = std::move(priced);
  }
  std::vector<Priced> list() const {
    std::vector<Priced> all;
    for (const std::optional<Priced>& best : best_)
      if (best) all.push_back(*best);
    return all;
  }

 private:
  std::array<std::optional<Priced>, kKinds> best_;
};

// The NPU's side costs a hand-over even if it is alone (price()).
bool has_side(const Cut& cut, Side side) {
  return std::ranges::any_of(cut.parts, [side](const Part& part) { return part.side == side; });
}

// The sum over all parts of the cut, as if the other side worked too.
double both_at_work(const Cut& cut, const CutCosts& costs) {
  double seconds = 0;
  for (const Part& part : cut.parts) seconds += costs.seconds(part, true);
  return seconds;
}

// The index at which the search among row cuts begins. It is H6's cut, which is the best one if time is proportional
// to rows.
size_t first_guess(int64_t S, int64_t N, const CutLimits& limits, const CutCosts& costs) {
  const double gpu = both_at_work(cut_at(S, N, {}, 0), costs);
  const double npu = both_at_work(cut_at(S, N, exact_layout(S, limits), N), costs);
  if (!(gpu > 0 && npu > 0 && std::isfinite(gpu) && std::isfinite(npu))) return 0;
  const Cut cut = decode_cutting(S, N, limits, {1 / gpu, 1 / npu});
  return static_cast<size_t>(cut.parts.front().rows() / limits.row_step - 1);
}

// Three digits in the unit that suits the time.
std::string time_text(double seconds) {
  char text[32];
  if (seconds < 1e-3) {
    std::snprintf(text, sizeof text, "%.3g us", seconds * 1e6);
  } else if (seconds < 1) {
    std::snprintf(text, sizeof text, "%.3g ms", seconds * 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.3g s", seconds);
  }
  return text;
}

// "46 us (GPU 44 us beside NPU 25.6 us, 2 us to join)".
std::string times_text(const Priced& priced, const CutCosts& costs) {
  std::string text = time_text(priced.seconds);
  if (has_side(priced.cut, Side::general) && has_side(priced.cut, Side::graphs)) {
    text += " (GPU " + time_text(priced.gpu_seconds) + " beside NPU " + time_text(priced.npu_seconds) + ", " +
            time_text(costs.sync_seconds + costs.copy_seconds) + " to join)";
  }
  return text;
}

// One sentence with the times of the chosen cut, of the best cut of another kind, and of the GPU alone. `all` begins
// with the GPU alone.
std::string explain(const Priced& chosen, std::span<const Priced> all, const CutCosts& costs) {
  std::string text = std::string(to_string(chosen.cut.kind)) + " takes " + times_text(chosen, costs);
  const Priced* next = nullptr;
  for (const Priced& other : all) {
    if (other.cut.kind != chosen.cut.kind && (next == nullptr || other.seconds < next->seconds)) next = &other;
  }
  if (next) text += ", " + std::string(to_string(next->cut.kind)) + " " + times_text(*next, costs);
  if (chosen.cut.kind != CutKind::gpu_all && next && next->cut.kind != CutKind::gpu_all)
    text += ", gpu " + times_text(all.front(), costs);
  return text;
}

}  // namespace

// H9 for one cut: max(T_gpu, T_npu) + T_sync + T_copy. The parts of one side run in turn, so their times add up. A cut
// without the NPU has nothing to join.
Priced price(const Cut& cut, const CutCosts& costs) {
  const bool npu = has_side(cut, Side::graphs), both = npu && has_side(cut, Side::general);
  Priced priced{cut, 0, 0, 0};
  for (const Part& part : cut.parts)
    (part.side == Side::general ? priced.gpu_seconds : priced.npu_seconds) += costs.seconds(part, both);
  priced.seconds = std::max(priced.gpu_seconds, priced.npu_seconds);
  if (npu) priced.seconds += costs.sync_seconds + costs.copy_seconds;
  return priced;
}

// Offers cuts kind by kind and keeps the best one of each kind. Row cuts are searched instead of listed, because a
// layout may have hundreds of them. The GPU alone is always a candidate.
Decision solve(int64_t S, int64_t N, const CutLimits& limits, const CutCosts& costs) {
  TANDEM_CHECK(S > 0 && N > 0 && limits.row_step > 0 && limits.token_step > 0, "a matmul to cut");
  BestOfEachKind best;
  best.offer(price(cut_at(S, N, {}, 0), costs));
  if (const auto whole = padding(S, N, limits)) best.offer(price(*whole, costs));
  if (const auto several = pipe(S, N, limits)) best.offer(price(*several, costs));
  for (const Cut& cut : sequence_cutting(S, N, limits)) best.offer(price(cut, costs));
  for (const Cut& cut : multi_sequence_cutting(S, N, limits)) best.offer(price(cut, costs));
  const RowCuts rows = row_cutting(S, N, limits);
  size_t guess = rows.empty() ? 0 : first_guess(S, N, limits, costs);
  if (!rows.empty()) best.offer(best_of_run(rows, costs, guess).priced);
  for (const RowCuts& run : hybrid_cutting(S, N, limits)) {
    if (run.empty()) continue;
    FoundCut found = best_of_run(run, costs, guess);
    guess = found.index;  // the next run's best cut is likely to lie near this one's
    best.offer(std::move(found.priced));
  }

  Decision decision{{}, best.list(), ""};
  decision.chosen = *std::ranges::min_element(decision.best_of_each_kind, {}, &Priced::seconds);
  if (!std::isfinite(decision.chosen.seconds)) {
    throw Error("no device can run a matmul", std::to_string(S) + " tokens, " + std::to_string(N) + " rows",
                "See `tandem devices` for what each one refuses");
  }
  decision.why = explain(decision.chosen, decision.best_of_each_kind, costs);
  return decision;
}

}  // namespace tandem
