#include "engine/draft/pass_size.h"

#include <algorithm>
#include <numeric>

#include "sync/error.h"

namespace tandem {

double tokens_a_second(std::span<const double> weights, std::span<const double> seconds, int64_t texts,
                       int64_t drafts) {
  const double tokens = std::accumulate(weights.begin(), weights.begin() + drafts, static_cast<double>(texts));
  return tokens / seconds[static_cast<size_t>(drafts)];
}

// Drafts are sorted by chance, so each number of drafts is tried once, in one walk. A pass without drafts is the
// measure, which drafts must beat by the margin.
int64_t best_draft_count(std::span<const double> weights, std::span<const double> seconds, int64_t texts,
                         double margin) {
  TANDEM_CHECK(!seconds.empty() && texts > 0, "the time of a pass without drafts");
  const size_t most = std::min(weights.size(), seconds.size() - 1);
  double tokens = static_cast<double>(texts), best = tokens / seconds[0] * (1 + margin);
  int64_t count = 0;
  for (size_t n = 1; n <= most; ++n) {
    tokens += weights[n - 1];
    const double rate = tokens / seconds[n];
    if (rate > best) best = rate, count = static_cast<int64_t>(n);
  }
  return count;
}

}  // namespace tandem
