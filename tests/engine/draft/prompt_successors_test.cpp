// S2 on a prompt whose successors the test makes up.
#include "engine/draft/prompt_successors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Tokens = std::vector<int32_t>;

class PromptSuccessorsTest : public ::testing::Test {
 protected:
  // Places:             0          1            2            3          4
  // Tokens:             5          6            7            5          8
  PromptSuccessorsTest() {
    prompt_.add(Tokens{5, 6, 7, 5, 8},
                std::vector<Successors>{{6, 8, -1}, {7, -1, -1}, {5, 9, -1}, {8, -1, -1}, {6, -1, -1}});
  }
  std::vector<Tokens> tokens_behind(int64_t place, double least = 0) const {
    std::vector<Tokens> all;
    for (const auto& path : prompt_.paths_behind(place, of_rank, least)) all.push_back(path.tokens);
    return all;
  }
  static double of_rank(int64_t, int rank) { return rank == 0 ? 0.5 : 0.25; }

  PromptSuccessors prompt_;
};

// Behind place 0: 6 at place 1, 7 at place 2, then 5 at place 3 (the nearest later one), 8 at place 4, and 6, which no
// later place has, at the first one: place 1. Eight tokens deep the path ends.
TEST_F(PromptSuccessorsTest, follow_the_nearest_later_place_and_else_the_first) {
  EXPECT_EQ(tokens_behind(0, 1.0 / 512).front(), (Tokens{6, 7, 5, 8, 6, 7, 5, 8}));
}

// 9 stands nowhere in the prompt, so its path ends with it. Weights: 5 is 0.5, its 8 is 0.25; 9 is 0.25.
TEST_F(PromptSuccessorsTest, end_at_a_token_that_the_prompt_does_not_have) {
  EXPECT_THAT(tokens_behind(2, 0.2), ElementsAre(Tokens{5, 8}, Tokens{9}));
}

TEST_F(PromptSuccessorsTest, have_the_chance_of_each_token_and_say_what_paths_share) {
  const auto paths = prompt_.paths_behind(1, of_rank, 0.1);  // 7, then 5 or 9; behind 5 stands 8
  ASSERT_THAT(paths, SizeIs(2));
  EXPECT_EQ(paths[0].tokens, (Tokens{7, 5, 8}));
  EXPECT_THAT(paths[0].chances, ElementsAre(DoubleEq(0.5), DoubleEq(0.5), DoubleEq(0.5)));
  EXPECT_EQ(paths[0].shared, 0);
  EXPECT_EQ(paths[1].tokens, (Tokens{7, 9}));
  EXPECT_THAT(paths[1].ranks, ElementsAre(0, 1));
  EXPECT_EQ(paths[1].shared, 1);
}

// 1 is expected behind itself at both of its places. The path goes from the first one to the second, and back.
TEST_F(PromptSuccessorsTest, leave_a_place_that_has_the_same_token) {
  PromptSuccessors prompt;
  prompt.add(Tokens{1, 2, 1}, std::vector<Successors>{{1, -1, -1}, {9, -1, -1}, {2, -1, -1}});
  const auto paths = prompt.paths_behind(0, of_rank, 0.2);
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths[0].tokens, (Tokens{1, 2}));
}

TEST_F(PromptSuccessorsTest, are_none_where_the_prompt_ends_or_no_token_is_likely) {
  EXPECT_THAT(tokens_behind(5), IsEmpty());
  EXPECT_THAT(tokens_behind(-1), IsEmpty());
  EXPECT_THAT(tokens_behind(0, 0.5), IsEmpty()) << "chances must be above the least one";
  EXPECT_EQ(prompt_.last_place_of(5), 3);
  EXPECT_EQ(prompt_.last_place_of(99), -1);
}

// Each token may follow itself or another one, so paths without a limit would have no end.
TEST_F(PromptSuccessorsTest, have_32_paths_at_most) {
  PromptSuccessors prompt;
  prompt.add(Tokens{1, 2, 3}, std::vector<Successors>(3, {1, 2, 3}));
  EXPECT_THAT(prompt.paths_behind(
                  0, [](int64_t, int) { return 1.0; }, 0),
              SizeIs(32));
}

}  // namespace
}  // namespace tandem
