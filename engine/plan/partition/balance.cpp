#include "engine/plan/partition/balance.h"

#include <algorithm>

#include "engine/plan/partition/token_layout.h"
#include "sync/error.h"

namespace tandem {

// Tries every number of tokens that sizes add up to. Starts from no tokens at all, so a slow second side gets none.
int64_t balanced_tokens(int64_t S, double seconds_first, double seconds_second, const CutLimits& limits) {
  TANDEM_CHECK(seconds_first > 0 && seconds_second > 0, "predicted times are positive");
  int64_t best = 0;
  double earliest = static_cast<double>(S) * seconds_first;
  for (const TokenLayout& layout : layouts_of_fewer(S, limits)) {
    const int64_t tokens = tokens_in(layout);
    const double end =
        std::max(static_cast<double>(S - tokens) * seconds_first, static_cast<double>(tokens) * seconds_second);
    if (end < earliest) best = tokens, earliest = end;
  }
  return best;
}

// Adds up the first side's operators in order, until the second side's time has passed.
size_t first_shared(std::span<const double> seconds_first, double seconds_second) {
  double begins = 0;
  size_t i = 0;
  while (i < seconds_first.size() && begins < seconds_second) begins += seconds_first[i++];
  return i;
}

}  // namespace tandem
