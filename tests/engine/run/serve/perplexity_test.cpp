#include "engine/run/serve/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tandem {
namespace {

TEST(Perplexity, of_a_uniform_guess_is_the_size_of_the_vocabulary) {
  const float logits[] = {3, 3, 3, 3};
  LogLikelihood sum;
  for (int32_t target : {0, 3}) {
    sum.negative_log_sum += negative_log_likelihood(logits, target);
    ++sum.tokens;
  }
  EXPECT_NEAR(sum.perplexity(), 4.0, 1e-12);
}

TEST(NegativeLogLikelihood, equals_the_value_worked_out_by_hand) {
  const float logits[] = {0.0f, std::log(3.0f)};  // the probabilities are 1/4 and 3/4
  EXPECT_NEAR(negative_log_likelihood(logits, 0), std::log(4.0), 1e-7);
  EXPECT_NEAR(negative_log_likelihood(logits, 1), std::log(4.0 / 3.0), 1e-7);
}

TEST(NegativeLogLikelihood, does_not_overflow_with_large_logits) {
  const float logits[] = {1000.0f, 990.0f};
  EXPECT_NEAR(negative_log_likelihood(logits, 1), 10.0 + std::log1p(std::exp(-10.0)), 1e-9);
  const float rising[] = {-1000.0f, 1000.0f};
  EXPECT_DOUBLE_EQ(negative_log_likelihood(rising, 1), 0.0) << "exp(2000) is beyond every double";
  EXPECT_DOUBLE_EQ(negative_log_likelihood(rising, 0), 2000.0);
}

}  // namespace
}  // namespace tandem
