#include "engine/plan/prediction/statistics.h"

#include <algorithm>
#include <cmath>

#include "sync/error.h"

namespace tandem {
namespace {

// The smallest value that at least `per` percent of the values do not exceed (nearest-rank percentile).
double nearest_rank(const std::vector<double>& sorted, double per) {
  const auto rank = static_cast<size_t>(std::ceil(per / 100 * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

// The mean over the middle half of the ranks.
double middle_mean(const std::vector<double>& sorted) {
  const size_t cut = sorted.size() / 4;
  double sum = 0;
  for (size_t i = cut; i < sorted.size() - cut; ++i) sum += sorted[i];
  return sum / static_cast<double>(sorted.size() - 2 * cut);
}

}  // namespace

double percentile(std::vector<double> values, double per) {
  TANDEM_CHECK(!values.empty(), "no values have no percentile");
  std::ranges::sort(values);
  return nearest_rank(values, per);
}

Distribution summarise(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  return {static_cast<int>(values.size()), values.front(), nearest_rank(values, 50), nearest_rank(values, 90),
          nearest_rank(values, 99),        values.back(),  middle_mean(values)};
}

}  // namespace tandem
