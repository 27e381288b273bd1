// Guessed experts and recorded routing, on numbers worked out by hand.
#include "engine/moe/expert_guess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "engine/moe/routing_record.h"
#include "engine/moe/routing_trace.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;

TEST(ExpertGuess, is_the_best_scores_and_of_equals_the_lower_ids) {
  const std::vector<float> scores = {0.1f, 0.7f, 0.4f, 0.4f, -2};
  EXPECT_THAT(best_experts(scores, 2), ElementsAre(1, 2));
  EXPECT_THAT(best_experts(scores, 5), ElementsAre(0, 1, 2, 3, 4));
}

TEST(ExpertGuess, counts_the_chosen_experts_that_were_guessed) {
  const std::vector<float> scores = {0.1f, 0.7f, 0.4f, 0.4f};
  GuessHits hits;
  add_guess(hits, scores, std::vector<int32_t>{1, 3});  // guessed: 1 and 2
  add_guess(hits, scores, std::vector<int32_t>{1, 2});
  EXPECT_EQ(hits.hits, 3);
  EXPECT_EQ(hits.of, 4);
}

// e^0 : e^ln 3 = 1 : 3. Large scores do not overflow.
TEST(ExpertGuess, has_scores_that_add_up_to_one) {
  const std::vector<float> shares = softmax_of(std::vector<float>{1000, 1000 + std::log(3.0f)});
  EXPECT_NEAR(shares[0], 0.25, 1e-4);
  EXPECT_NEAR(shares[1], 0.75, 1e-4);
}

TEST(RoutingRecord, is_read_back_as_a_trace) {
  RoutingRecord record("m \"x\"", empty_counts(8, 2, {1, 4}));
  record.begin(0, 0);
  record.add(std::vector<int32_t>{0, 7}, std::vector<float>{0.1f, 0.9f});
  record.add(std::vector<int32_t>{2, 3}, std::vector<float>{1e-9f, 1});
  record.begin(1, 5);
  record.add(std::vector<int32_t>{4, 5}, std::vector<float>{0.5f, 0.5f});
  record.add(std::vector<int32_t>{1, 6}, std::vector<float>{0.3f, 1.0f / 3});
  std::string text;
  record.write([&](std::string_view piece) { text += piece; });
  std::istringstream lines(text);
  const RoutingTrace trace = parse_routing_trace(lines, "record");
  EXPECT_EQ(trace.model, "m \"x\"");
  EXPECT_THAT(trace.layers, ElementsAre(1, 4));
  EXPECT_EQ(trace.tokens, (std::vector<TracedToken>{
                              {0, 0, {{0, 7}, {2, 3}}, {{0.1f, 0.9f}, {1e-9f, 1}}, {}},
                              {1, 5, {{4, 5}, {1, 6}}, {{0.5f, 0.5f}, {0.3f, 1.0f / 3}}, {}},
                          }));
  EXPECT_EQ(record.tokens(), 2);
  EXPECT_EQ(record.sequences(), 2);
  std::ostringstream other;
  write_routing_trace(trace, other);
  EXPECT_EQ(text.substr(0, text.find('\n')), other.str().substr(0, other.str().find('\n'))) << "one meta line";
}

}  // namespace
}  // namespace tandem
