// Mean negative log-likelihood of a text under a model, and its exponential.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tandem {

struct LogLikelihood {
  double negative_log_sum = 0;
  int64_t tokens = 0;
  // Both throw an Error if no token was counted.
  double mean() const;
  double perplexity() const;
};

// Error if a text has too few tokens for a perplexity: fewer than two. name: the text's name, for the message.
void require_two_tokens(std::span<const int32_t> ids, const std::string& name);

// -log softmax(logits)[target], in double precision.
double negative_log_likelihood(std::span<const float> logits, int32_t target);

}  // namespace tandem
