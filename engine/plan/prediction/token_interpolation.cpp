#include "engine/plan/prediction/token_interpolation.h"

#include <algorithm>

#include "sync/error.h"

namespace tandem {

double interpolate_tokens(std::span<const int64_t> sizes, int64_t S, const std::function<double(int64_t)>& seconds) {
  TANDEM_CHECK(!sizes.empty(), "there is a measured size");
  auto above = std::ranges::lower_bound(sizes, S);
  if (above != sizes.end() && (*above == S || above == sizes.begin())) return seconds(*above);
  if (sizes.size() == 1) return seconds(sizes[0]) * static_cast<double>(S) / static_cast<double>(sizes[0]);
  if (above == sizes.end()) --above;
  const int64_t low = above[-1], high = above[0];
  const double at_low = seconds(low), at_high = seconds(high);
  return at_low + (at_high - at_low) * static_cast<double>(S - low) / static_cast<double>(high - low);
}

}  // namespace tandem
