#include "engine/run/perplexity.h"

#include <algorithm>
#include <cmath>

#include "sync/error.h"

namespace tandem {

double LogLikelihood::perplexity() const { return std::exp(mean()); }

double negative_log_likelihood(std::span<const float> logits, int32_t target) {
  TANDEM_CHECK(target >= 0 && target < static_cast<int64_t>(logits.size()), "target token");
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum) - logits[static_cast<size_t>(target)];
}

}  // namespace tandem
