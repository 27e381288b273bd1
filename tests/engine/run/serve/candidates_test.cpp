// Draws from whole vocabularies, beside draws from a sorted one.
#include "engine/run/serve/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace tandem {
namespace {

// Logits of `size` tokens: `likely` of them are far above the others.
std::vector<float> some_logits(size_t size, size_t likely, float spread, std::mt19937_64& random) {
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> logits(size);
  for (float& logit : logits) logit = normal(random);
  for (size_t i = 0; i < likely; ++i) logits[random() % size] += 12 - 0.1f * static_cast<float>(i);
  return logits;
}

// Expects the token that the chain of filters draws from a vocabulary that is sorted as a whole. Probabilities are
// rounded to f32, so a draw near a border between two tokens may take the other one.
void expect_as_of_sorted(std::span<const float> logits, const Filters& filters) {
  std::vector<Candidate> all = keep_top_k(logits, 0);
  std::erase_if(all, [](const Candidate& c) { return std::isinf(c.logit); });
  to_probabilities(all, filters.temperature);
  keep_top_p(all, filters.top_p);
  keep_min_p(all, filters.min_p);
  const int32_t id = draw_of_all(logits, filters);
  const auto place = [&](int32_t of) { return std::ranges::find(all, of, &Candidate::id) - all.begin(); };
  const auto low = place(draw(all, std::max(0.0, filters.uniform - 1e-6)));
  const auto high = place(draw(all, std::min(1.0, filters.uniform + 1e-6)));
  EXPECT_TRUE(low <= place(id) && place(id) <= high)
      << logits.size() << " tokens, temperature " << filters.temperature << ", top p " << filters.top_p << ", min p "
      << filters.min_p << ", uniform " << filters.uniform << ": " << id;
}

// Flat vocabularies need many tokens, and peaked ones few.
TEST(DrawOfAll, is_the_draw_of_a_sorted_vocabulary) {
  std::mt19937_64 random(1);
  for (const size_t size : {1u, 60u, 300u, 5000u}) {
    for (const float spread : {0.0f, 0.3f, 3.0f}) {
      for (const size_t likely : {0u, 3u, 300u}) {
        const std::vector<float> logits = some_logits(size, likely, spread, random);
        for (const float temperature : {0.01f, 0.8f, 3.0f})
          for (const float top_p : {1.0f, 0.9487f, 0.1009f})
            for (const float min_p : {0.0f, 0.05f, 0.9f})
              for (const double uniform : {0.0, 0.3719, 0.9013, 0.9993})
                expect_as_of_sorted(logits, {temperature, top_p, min_p, uniform});
      }
    }
  }
}

// A constraint leaves some tokens, or one; their weights alone count.
TEST(DrawOfAll, passes_over_excluded_tokens) {
  std::mt19937_64 random(2);
  for (const size_t allowed : {1u, 7u, 900u}) {
    std::vector<float> logits(2000, -std::numeric_limits<float>::infinity());
    for (size_t i = 0; i < allowed; ++i) logits[i * 2] = 0.01f * static_cast<float>(random() % 100);
    for (const double uniform : {0.0, 0.5, 0.99999}) {
      expect_as_of_sorted(logits, {1, 1, 0, uniform});
      EXPECT_TRUE(std::isfinite(logits[static_cast<size_t>(draw_of_all(logits, {1, 1, 0, uniform}))]));
    }
  }
}

// The smallest temperature that an f32 can hold, and the largest.
TEST(DrawOfAll, takes_every_temperature) {
  const std::vector<float> logits = {1, 3, 2, 3};
  for (const float temperature : {std::numeric_limits<float>::denorm_min(), 1e-30f, 0.01f})
    for (const double uniform : {0.0, 0.49}) EXPECT_EQ(draw_of_all(logits, {temperature, 1, 0, uniform}), 1);
  const float hot = std::numeric_limits<float>::max();
  EXPECT_EQ(draw_of_all(logits, {hot, 1, 0, 0.1}), 1) << "all are equally likely, and the order stays";
  EXPECT_EQ(draw_of_all(logits, {hot, 1, 0, 0.9}), 0);
}

// e + 1 + 1 + e^-1000: the large offset alone would overflow.
TEST(LogSumOfExp, is_that_of_the_logits) {
  EXPECT_NEAR(log_sum_of_exp(std::vector<float>{701, 700, 700, -300}), 700 + std::log(std::exp(1.0) + 2), 1e-6);
  EXPECT_EQ(log_sum_of_exp(std::vector<float>{-3}), -3);
  EXPECT_NEAR(log_sum_of_exp(std::vector<float>(128'256, 2.5f)), 2.5 + std::log(128'256.0), 1e-6);
}

}  // namespace
}  // namespace tandem
