// Mean negative log-likelihood of a text under a model, and its exponential.
#pragma once

#include <cstdint>
#include <span>

namespace tandem {

struct LogLikelihood {
  double negative_log_sum = 0;
  int64_t tokens = 0;
  double mean() const { return tokens == 0 ? 0 : negative_log_sum / static_cast<double>(tokens); }
  double perplexity() const;
};

// -log softmax(logits)[target], in double precision.
double negative_log_likelihood(std::span<const float> logits, int32_t target);

}  // namespace tandem
