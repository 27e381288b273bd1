#include "engine/plan/partition/row_search.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "sync/error.h"

namespace tandem {
namespace {

// Times are sums of products, so rounding may put nearly equal times out of order.
constexpr double kRounding = 1 + 1e-9;

// A search that prices each cut at most once.
class Search {
 public:
  Search(const RowCuts& run, const CutCosts& costs) : run_(run), costs_(costs), priced_(run.size()) {}

  // Prices the last cut with T_npu < T_gpu and the first one with T_npu >= T_gpu, if they exist. Steps away from the
  // guess double until the crossing is enclosed. Then bisection finds it.
  void enclose_crossing(size_t guess) {
    const auto count = static_cast<int64_t>(run_.size());
    int64_t below = -1, above = count, stride = 1;
    auto i = static_cast<int64_t>(guess);
    while (above - below > 1) {
      const Priced& at = priced(static_cast<size_t>(i));
      (at.npu_seconds < at.gpu_seconds ? below : above) = i;
      if (below >= 0 && above < count) {
        i = (below + above) / 2;
      } else {
        i = below < 0 ? std::max<int64_t>(above - stride, 0) : std::min(below + stride, count - 1);
        stride *= 2;
      }
    }
  }

  // A price takes a prediction of each part, so it is kept.
  const Priced& priced(size_t i) {
    if (!priced_[i]) priced_[i] = price(run_[i], costs_);
    return *priced_[i];
  }

  // Whether all prices so far keep the rule that the NPU's time rises and the GPU's falls with the NPU's rows.
  bool monotone_so_far() const {
    const Priced* last = nullptr;
    for (const std::optional<Priced>& each : priced_) {
      if (!each) continue;
      if (last &&
          (last->npu_seconds > each->npu_seconds * kRounding || each->gpu_seconds > last->gpu_seconds * kRounding))
        return false;
      last = &*each;
    }
    return true;
  }

  // The best of what was priced. On a monotone run the best one is at the crossing, on either side of it.
  FoundCut best_so_far() const {
    FoundCut best;
    for (size_t i = 0; i < priced_.size(); ++i) {
      if (priced_[i] && (best.priced.cut.parts.empty() || priced_[i]->seconds < best.priced.seconds))
        best = {i, *priced_[i]};
    }
    return best;
  }

 private:
  const RowCuts& run_;
  const CutCosts& costs_;
  std::vector<std::optional<Priced>> priced_;
};

}  // namespace

// The search is right only if times are monotone in the rows. If a price breaks that rule, the run is
// priced completely.
FoundCut best_of_run(const RowCuts& run, const CutCosts& costs, size_t guess) {
  TANDEM_CHECK(!run.empty(), "a run of cuts has one");
  Search search(run, costs);
  search.enclose_crossing(std::min(guess, run.size() - 1));
  if (!search.monotone_so_far())
    for (size_t i = 0; i < run.size(); ++i) search.priced(i);
  return search.best_so_far();
}

}  // namespace tandem
