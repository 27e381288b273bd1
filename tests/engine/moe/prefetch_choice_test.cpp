// Y3: which guessed expert is copied ahead, with numbers worked out by hand.
#include "engine/moe/prefetch_choice.h"

#include <gtest/gtest.h>

#include <vector>

namespace tandem {
namespace {

using GuessedLoads = std::vector<int64_t>;
using SlotsOfExperts = std::vector<int32_t>;

// The host needs 4 for each token and the GPU 1 for each expert. The link needs 3 for each.
constexpr ExpertCosts kPrefetchCosts{.cpu_per_token = 4, .gpu_fixed = 1, .transfer = 3};

// Experts 1 and 3 are missing. Moved on demand, they arrive at 3 and 6, so the layer ends at 7. With either of them in
// a slot it ends at 4: the other one arrives at 3.
TEST(PrefetchChoice, is_worth_what_the_schedule_ends_sooner) {
  const ScheduleRule* demand = find_schedule_rule("gpu-only");
  const auto best = best_prefetch(GuessedLoads{0, 1, 0, 1}, SlotsOfExperts{0, -1, 1, -1}, kPrefetchCosts, demand);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->expert, 1) << "of equal gains the lower id";
  EXPECT_DOUBLE_EQ(best->gain, 3);
}

// The host computes expert 3 in 8 and expert 1 in 4, one after the other: 12. Without expert 3 it is through at 4.
TEST(PrefetchChoice, takes_the_expert_that_shortens_the_layer_most) {
  const ScheduleRule* fixed = find_schedule_rule("fixed");
  const auto best = best_prefetch(GuessedLoads{0, 1, 0, 2}, SlotsOfExperts{0, -1, 1, -1}, kPrefetchCosts, fixed);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->expert, 3);
  EXPECT_DOUBLE_EQ(best->gain, 8);
}

TEST(PrefetchChoice, is_nothing_where_no_copy_shortens_the_layer) {
  const ScheduleRule* fixed = find_schedule_rule("fixed");
  EXPECT_FALSE(best_prefetch(GuessedLoads{1, 1, 0}, SlotsOfExperts{0, 1, -1}, kPrefetchCosts, fixed))
      << "all guessed experts have slots";
  EXPECT_FALSE(best_prefetch(GuessedLoads{0, 0, 0}, SlotsOfExperts{0, 1, -1}, kPrefetchCosts, fixed))
      << "nothing is guessed";
  // Two cached experts take the GPU 20, and the host needs 4 beside it: expert 2 would make the GPU's 30.
  const ExpertCosts slow_gpu{.cpu_per_token = 4, .gpu_fixed = 10, .transfer = 3};
  EXPECT_FALSE(best_prefetch(GuessedLoads{1, 1, 1}, SlotsOfExperts{0, 1, -1}, slow_gpu, fixed));
}

TEST(PrefetchChoice, guesses_the_best_scores_of_each_token) {
  // Rows of 3 scores with a gap behind them; 2 of each token.
  const std::vector<float> scores{0.1F, 0.9F, 0.5F, 7, 0.3F, 0.2F, 0.8F, 7};
  EXPECT_EQ(guessed_loads(scores, 4, 2, 3, 2), (GuessedLoads{1, 1, 2}));
}

}  // namespace
}  // namespace tandem
