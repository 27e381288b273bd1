// When a client that found the line full may try again.
#include "engine/serve/api/metrics.h"

#include <gtest/gtest.h>

#include "engine/serve/api/fields.h"

namespace tandem::testing {
namespace {

using serve::Metrics;

Generation took(double prompt_seconds, double predicted_seconds, StopReason reason = StopReason::length) {
  Generation generation;
  generation.prompt_seconds = prompt_seconds;
  generation.predicted_seconds = predicted_seconds;
  generation.reason = reason;
  return generation;
}

// A text takes 1 + 11 s. With four texts in work, one ends every 3 s. So three places are free after 9 s.
TEST(RetrySeconds, are_the_usual_time_of_a_text_for_each_text_in_work) {
  Metrics metrics;
  count(metrics, took(1, 11));
  EXPECT_EQ(serve::retry_seconds(metrics, 4, 1), 3);
  EXPECT_EQ(serve::retry_seconds(metrics, 4, 3), 9);
  EXPECT_EQ(serve::retry_seconds(metrics, 1, 1), 12);
}

// The mean moves by an eighth of the difference: 12 s + (20 - 12) / 8 s = 13 s.
TEST(RetrySeconds, follow_the_texts_that_ended_lately) {
  Metrics metrics;
  count(metrics, took(2, 10));
  count(metrics, took(0, 20));
  EXPECT_EQ(serve::retry_seconds(metrics, 1, 1), 13);
}

TEST(RetrySeconds, do_not_count_texts_that_were_cancelled) {
  Metrics metrics;
  count(metrics, took(0, 40));
  count(metrics, took(0, 1, StopReason::interrupted));
  EXPECT_EQ(serve::retry_seconds(metrics, 2, 1), 20);
}

TEST(RetrySeconds, are_from_one_to_six_hundred) {
  Metrics metrics;
  EXPECT_EQ(serve::retry_seconds(metrics, 4, 1), 1) << "nothing is known yet";
  EXPECT_EQ(serve::retry_seconds(metrics, 0, 1), 1);
  count(metrics, took(0, 0.3));
  EXPECT_EQ(serve::retry_seconds(metrics, 1, 1), 1);
  count(metrics, took(0, 1e6));
  EXPECT_EQ(serve::retry_seconds(metrics, 1, 16), 600);
}

TEST(RetrySeconds, are_a_header_of_the_answer) {
  serve::ApiError error(429, "Later.");
  EXPECT_TRUE(error.response().headers.empty());
  error.retry_seconds = 7;
  const auto headers = error.response().headers;
  ASSERT_EQ(headers.size(), 1u);
  EXPECT_EQ(headers[0].first, "Retry-After");
  EXPECT_EQ(headers[0].second, "7");
}

}  // namespace
}  // namespace tandem::testing
