// How well a model predicts a text: the mean negative logarithm of each token's probability.
#include "engine/run/serve/perplexity.h"

#include <cmath>

#include "engine/run/serve/candidates.h"
#include "sync/error.h"

namespace tandem {

double LogLikelihood::mean() const {
  TANDEM_CHECK(tokens > 0, "no token was counted");
  return negative_log_sum / static_cast<double>(tokens);
}

double LogLikelihood::perplexity() const { return std::exp(mean()); }

void require_two_tokens(std::span<const int32_t> ids, const std::string& name) {
  if (ids.size() >= 2) return;
  throw Error("there is nothing to score", name + ": tokens: " + std::to_string(ids.size()),
              "A perplexity needs two tokens: nothing predicts the first one");
}

// The sum is in double precision, because figures are compared to many digits. The largest logit is subtracted before
// exp(), so that exp() cannot overflow, and is added to the logarithm again.
double negative_log_likelihood(std::span<const float> logits, int32_t target) {
  TANDEM_CHECK(target >= 0 && target < static_cast<int64_t>(logits.size()), "target token");
  const double largest = logits[static_cast<size_t>(greedy_choice(logits))];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum) - logits[static_cast<size_t>(target)];
}

}  // namespace tandem
