// The cost of choosing plans: sums worked out by hand, and passes that can be played in their order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <set>

#include "bench/regret/figures.h"
#include "bench/regret/neighbour.h"
#include "bench/regret/passes.h"
#include "sync/error.h"

namespace tandem::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// Two passes have a single token, one has 8 tokens. By the medians `rows` needs 1 and 4 s for the single tokens, and
// `tensor` needs 2 and 2 s. The first time of `tensor` includes half a second of preparing. So `tensor` is the best
// plan for the length with 4 s, though `rows` is the best one of the first pass. `rows` needs 10 s for 8 tokens.
const std::vector<Pass> kPasses = {{1, 0}, {8, 1}, {1, 9}};
const std::vector<HindsightPass> kHindsight = {{{"rows", {{1, 1, 50}}}, {"tensor", {{1.5, 1, 3}, 0.5}}},
                                               {{"rows", {{10, 11, 9}}}, {"tensor", {{20}}}},
                                               {{"rows", {{4, 4, 3}}}, {"tensor", {{2, 2, 2}}}}};

TEST(Regret, takes_the_least_median_as_the_best_of_a_pass) {
  EXPECT_EQ(best_of_pass(kHindsight[0]).plan, "rows");
  EXPECT_EQ(best_of_pass(kHindsight[0]).seconds, 1);
  EXPECT_EQ(best_of_pass(kHindsight[2]).plan, "tensor");
  EXPECT_THROW(best_of_pass({{"rows", {{}, 1}}}), Error);
}

TEST(Regret, knows_the_plan_with_the_least_sum_for_each_length) {
  EXPECT_THAT(best_by_length(kPasses, kHindsight), ElementsAre(Pair(1, "tensor"), Pair(8, "rows")));
}

TEST(Regret, leaves_out_plans_that_were_not_timed_in_all_passes_of_a_length) {
  std::vector<HindsightPass> hindsight = kHindsight;
  hindsight[0]["layer"] = {{0.5}, 0};  // the least by far, but timed in one of two passes
  EXPECT_EQ(best_by_length(kPasses, hindsight).at(1), "tensor");
  hindsight[0].erase("tensor");
  hindsight[2].erase("rows");
  EXPECT_THROW(best_by_length(kPasses, hindsight), Error);
}

TEST(Regret, sets_what_was_played_beside_the_best_plans) {
  const std::vector<PlayedPass> played = {{"rows", 0.5, 1.5}, {"tensor", 1, 19}, {"layer", 0, 3}};
  const Regret all = regret_of(kPasses, played, kHindsight, 3);
  EXPECT_DOUBLE_EQ(all.played_seconds, 2 + 20 + 3);
  EXPECT_DOUBLE_EQ(all.ready_seconds, 1.5);
  EXPECT_DOUBLE_EQ(all.best_seconds, 2 + 10 + 2);
  EXPECT_DOUBLE_EQ(all.ratio(), 25.0 / 14);
  EXPECT_DOUBLE_EQ(all.prepared_seconds, 1.5 + 10 + 2);
  EXPECT_DOUBLE_EQ(all.ratio_to_prepared(), 25.0 / 13.5);
  EXPECT_DOUBLE_EQ(all.best_of_each_seconds, 1 + 10 + 2);
  EXPECT_DOUBLE_EQ(all.ratio_to_best_of_each(), 25.0 / 13);
  EXPECT_DOUBLE_EQ(all.taken_seconds, 1 + 20 + 3);  // no run timed `layer`: it counts as played
  EXPECT_DOUBLE_EQ(all.ratio_of_choices(), 24.0 / 14);
  EXPECT_EQ(all.passes, 3);
  EXPECT_EQ(all.best, 1);
  EXPECT_EQ(all.within_5_percent, 1);
}

// The medians say which plans are best. Their charges are (1.5 + 1 + 3) / 3 + 0.5, 10 and 2 seconds.
TEST(Regret, charges_what_runs_take_on_average_where_asked_to) {
  const std::vector<PlayedPass> played = {{"rows", 0.5, 1.5}, {"tensor", 1, 19}, {"layer", 0, 3}};
  const Regret all = regret_of(kPasses, played, kHindsight, 3, Charged::mean);
  EXPECT_DOUBLE_EQ(all.best_seconds, 5.5 / 3 + 0.5 + 10 + 2);
  EXPECT_DOUBLE_EQ(all.taken_seconds, 52.0 / 3 + 20 + 3);
  EXPECT_DOUBLE_EQ(all.played_seconds, 2 + 20 + 3);
}

// `rows` is the best plan by its own medians, 1 s. Its third run is not in that figure.
TEST(Regret, by_other_runs_leaves_out_the_luck_of_being_the_best) {
  const std::vector<Pass> one = {{4, 0}};
  const std::vector<HindsightPass> hindsight = {{{"rows", {{1, 1, 5}, 0.5}}, {"tensor", {{2, 1, 3}, 0.25}}}};
  const std::vector<PlayedPass> played = {{"rows", 0, 9}};
  EXPECT_DOUBLE_EQ(regret_of(one, played, hindsight, 1, Charged::median).best_seconds, 1.5);
  // The median of two runs is the lesser one. Without the first runs `rows` takes 1.5 s and `tensor` 1.25, and the
  // first run of `tensor` took 2. Without the second runs `rows` takes 1.5 and `tensor` 2.25, and the second run of
  // `rows` took 1. Without the third runs `rows` takes 1.5 and `tensor` 1.25, and the third run of `tensor` took 3.
  const Regret held_out = regret_of(one, played, hindsight, 1, Charged::held_out);
  EXPECT_DOUBLE_EQ(held_out.best_seconds, (2.25 + 1.5 + 3.25) / 3);
  EXPECT_DOUBLE_EQ(held_out.prepared_seconds, 6.0 / 3);
  EXPECT_DOUBLE_EQ(held_out.played_seconds, 9);
}

TEST(Regret, by_other_runs_charges_a_plan_that_ran_once_its_run) {
  const std::vector<HindsightPass> once = {{{"rows", {{3}, 1}}, {"tensor", {{9, 9}}}}};
  EXPECT_DOUBLE_EQ(
      regret_of(std::vector<Pass>{{4, 0}}, std::vector<PlayedPass>{{"rows", 1, 3}}, once, 1, Charged::held_out)
          .best_seconds,
      4);
}

TEST(Regret, of_the_first_passes_is_by_the_best_plans_of_all) {
  const std::vector<PlayedPass> played = {{"rows", 0, 3}, {"rows", 0, 10}, {"rows", 0, 4}};
  const Regret first = regret_of(kPasses, played, kHindsight, 1);
  EXPECT_DOUBLE_EQ(first.played_seconds, 3);
  EXPECT_DOUBLE_EQ(first.best_seconds, 2);  // the best plan is `tensor`, because of the third pass
  EXPECT_EQ(first.passes, 1);
  EXPECT_EQ(regret_of(kPasses, played, kHindsight, 20).passes, 3) << "there are no more";
}

TEST(Regret, counts_plans_within_5_percent_of_the_best) {
  const std::vector<Pass> one = {{4, 0}};
  const std::vector<HindsightPass> near = {{{"rows", {{1.04}}}, {"tensor", {{1.0}}}}},
                                   far = {{{"rows", {{1.06}}}, {"tensor", {{1.0}}}}};
  const std::vector<PlayedPass> played = {{"rows", 0, 9}};
  EXPECT_EQ(regret_of(one, played, near, 1).within_5_percent, 1);
  EXPECT_EQ(regret_of(one, played, near, 1).best, 0);
  EXPECT_EQ(regret_of(one, played, far, 1).within_5_percent, 0);
}

TEST(Regret, orders_passes_by_what_they_lost) {
  // The losses are 5 - 2 = 3, 11 - 10 = 1 and 10 - 2 = 8.
  const std::vector<PlayedPass> played = {{"rows", 0, 5}, {"rows", 1, 10}, {"rows", 0, 10}};
  EXPECT_THAT(worst_passes(kPasses, played, kHindsight, 10), ElementsAre(2, 0, 1));
  EXPECT_THAT(worst_passes(kPasses, played, kHindsight, 1), ElementsAre(2));
}

TEST(RegretPasses, are_the_same_for_a_seed_and_others_for_another_one) {
  EXPECT_EQ(random_passes({}), random_passes({}));
  EXPECT_NE(random_passes({.seed = 1}), random_passes({.seed = 2}));
}

TEST(RegretPasses, begin_where_text_is_and_stay_within_the_context) {
  int64_t end = 0, going_on = 0, deepest = 0;
  for (const Pass& pass : random_passes({.count = 1000, .context = 700, .longest = 256})) {
    EXPECT_GE(pass.tokens, 1);
    EXPECT_LE(pass.tokens, 256);
    EXPECT_GE(pass.depth, 0);
    EXPECT_LE(pass.depth, end) << "a position that no pass before has filled";
    EXPECT_LE(pass.depth + pass.tokens, 700);
    going_on += pass.depth == end;
    end = std::max(end, pass.depth + pass.tokens);
    deepest = std::max(deepest, pass.depth);
  }
  EXPECT_GT(end, 600) << "the text has to grow";
  EXPECT_GT(deepest, 400);
  EXPECT_GT(going_on, 10);
}

TEST(RegretPasses, are_single_tokens_for_a_good_half_and_of_many_lengths_else) {
  const auto passes = random_passes({.count = 2000});
  const auto singles = std::ranges::count(passes, 1, &Pass::tokens);
  // A half of the passes and ln 2 / ln 257 of the other half have one token: 1125 of 2000, with a deviation of 22.
  EXPECT_NEAR(static_cast<double>(singles), 1125, 5 * 22);
  // Lengths from 2 to 15 are as frequent as lengths from 16 to 127, because 16 / 2 = 128 / 16 = 8.
  const auto few = std::ranges::count_if(passes, [](const Pass& p) { return p.tokens >= 2 && p.tokens < 16; });
  const auto many = std::ranges::count_if(passes, [](const Pass& p) { return p.tokens >= 16 && p.tokens < 128; });
  EXPECT_NEAR(static_cast<double>(few), static_cast<double>(many), 5 * 27);
  std::set<int64_t> lengths;
  for (const Pass& pass : passes) lengths.insert(pass.tokens);
  EXPECT_GT(lengths.size(), 100u);
}

TEST(RegretPasses, are_no_longer_than_the_context) {
  for (const Pass& pass : random_passes({.count = 200, .context = 32, .longest = 256}))
    EXPECT_LE(pass.depth + pass.tokens, 32);
}

TEST(RegretNeighbour, is_there_and_ends_with_the_object) {
  std::vector<pid_t> processes;
  {
    const Neighbour neighbour(2, {.busy_seconds = 0.01, .idle_seconds = 0.01});
    processes = neighbour.processes();
    ASSERT_EQ(processes.size(), 2u);
    for (const pid_t process : processes) EXPECT_EQ(kill(process, 0), 0) << "not there";
  }
  for (const pid_t process : processes) EXPECT_NE(kill(process, 0), 0) << "still there";
}

}  // namespace
}  // namespace tandem::bench
