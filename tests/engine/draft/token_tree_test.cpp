// M1 to M3 and M5 on candidates worked out by hand, and their properties on random ones.
#include "engine/draft/token_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tandem {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TokenTree, is_ranked_by_the_product_of_probabilities) {
  // 5: 0.5, 5 6: 0.5 * 0.5 = 0.25, 7: 0.4, 7 8: 0.4 * 0.75 = 0.3.
  const TokenTree tree = merged(std::vector<DraftCandidate>{{{5, 6}, {0.5, 0.5}}, {{7, 8}, {0.4, 0.75}}}, 63);
  EXPECT_THAT(tree.ids, ElementsAre(5, 7, 8, 6));
  EXPECT_THAT(tree.parents, ElementsAre(-1, -1, 1, 0));
  EXPECT_THAT(tree.positions, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(tree.weights, ElementsAre(DoubleEq(0.5), DoubleEq(0.4), DoubleEq(0.4 * 0.75), DoubleEq(0.25)));
}

TEST(TokenTree, has_equal_beginnings_once_with_the_largest_weight) {
  const TokenTree tree = merged(std::vector<DraftCandidate>{{{5, 6}, {0.5, 0.5}}, {{5, 7}, {0.75, 0.5}}}, 63);
  EXPECT_THAT(tree.ids, ElementsAre(5, 7, 6));
  EXPECT_THAT(tree.parents, ElementsAre(-1, 0, 0));
  EXPECT_THAT(tree.weights, ElementsAre(0.75, 0.375, 0.25));
  EXPECT_EQ(tree.origins[0].candidate, 0);
  EXPECT_EQ(tree.origins[1].candidate, 1);
  EXPECT_EQ(tree.origins[1].token, 1);
}

TEST(TokenTree, breaks_ties_by_depth_and_then_by_candidate) {
  const TokenTree tree = merged(std::vector<DraftCandidate>{{{5, 6}, {0.5, 1}}, {{7}, {0.5}}}, 63);
  EXPECT_THAT(tree.ids, ElementsAre(5, 7, 6));
  EXPECT_THAT(tree.positions, ElementsAre(0, 0, 1));
}

TEST(TokenTree, keeps_the_first_nodes_and_cuts_long_candidates) {
  const std::vector<double> sure(40, 1.0);
  std::vector<int32_t> tokens(40);
  for (int32_t i = 0; i < 40; ++i) tokens[static_cast<size_t>(i)] = i;
  const std::vector<DraftCandidate> one{{tokens, sure}};
  EXPECT_EQ(merged(one, 63).nodes(), 31);
  EXPECT_EQ(merged(one, 4).nodes(), 4);
  EXPECT_EQ(merged(one, 0).nodes(), 0);
  EXPECT_THAT(merged({}, 63).ids, IsEmpty());
}

TEST(TokenTree, sees_ancestors_and_itself) {
  EXPECT_THAT(mask_of(std::vector<int32_t>{-1, 0, -1, 1}), ElementsAre(1, 0, 0, 0,  //
                                                                       1, 1, 0, 0,  //
                                                                       0, 0, 1, 0,  //
                                                                       1, 1, 0, 1));
}

TEST(TokenTree, of_a_chain_has_the_product_of_the_chances_up_to_each_token) {
  const TokenTree chain = chain_of({{5, 6, 7}, {0.5, 0.5, 0.25}}, 2);
  EXPECT_THAT(chain.ids, ElementsAre(5, 6, 7));
  EXPECT_THAT(chain.parents, ElementsAre(-1, 0, 1));
  EXPECT_THAT(chain.positions, ElementsAre(0, 1, 2));
  EXPECT_THAT(chain.weights, ElementsAre(0.5, 0.25, 0.0625));
  EXPECT_EQ(chain.origins[1].candidate, 2);
  EXPECT_EQ(chain.origins[1].token, 1);
}

// Behind the newest token the model chooses 7, behind 7 it chooses 8, and behind 8 something else.
TEST(AcceptedPath, follows_the_choices_through_the_nodes_that_ran) {
  const TokenTree tree = merged(std::vector<DraftCandidate>{{{5, 6}, {0.5, 0.5}}, {{7, 8}, {0.4, 0.75}}}, 63);
  const std::map<int32_t, int32_t> choices{{-1, 7}, {1, 8}, {2, 99}};
  std::vector<int32_t> asked;
  int32_t next = 0;
  const auto choice = [&](int32_t node) {
    asked.push_back(node);
    return choices.at(node);
  };
  const auto path_of = [&](size_t run) {
    return accepted_path(std::span(tree.ids).first(run), tree.parents, choice, next);
  };
  EXPECT_THAT(path_of(4), ElementsAre(1, 2));
  EXPECT_EQ(next, 99);
  EXPECT_THAT(asked, ElementsAre(-1, 1, 2)) << "each choice is drawn once, in the order of the text";
  EXPECT_THAT(path_of(2), ElementsAre(1)) << "8 did not run";
  EXPECT_EQ(next, 8);
  EXPECT_THAT(path_of(0), IsEmpty());
  EXPECT_EQ(next, 7);
}

TEST(TokenTree, of_random_candidates_keeps_its_rules) {
  std::mt19937 random(4);
  const double values[] = {1, 0.5, 0.5, 0.25, 0.9, 0};
  for (int round = 0; round < 500; ++round) {
    std::vector<DraftCandidate> candidates(random() % 6);
    for (DraftCandidate& candidate : candidates)
      for (uint32_t length = random() % 7; length > 0; --length) {
        candidate.tokens.push_back(static_cast<int32_t>(random() % 3));
        candidate.probabilities.push_back(values[random() % 6]);
      }
    // The largest weight of each beginning.
    std::map<std::vector<int32_t>, double> expected;
    for (const DraftCandidate& candidate : candidates) {
      double weight = 1;
      for (size_t i = 0; i < candidate.tokens.size(); ++i) {
        weight *= candidate.probabilities[i];
        auto [place, added] = expected.try_emplace(
            {candidate.tokens.begin(), candidate.tokens.begin() + static_cast<std::ptrdiff_t>(i) + 1}, weight);
        if (!added) place->second = std::max(place->second, weight);
      }
    }
    const int64_t cap = random() % 20;
    const TokenTree tree = merged(candidates, cap);
    ASSERT_EQ(tree.nodes(), std::min<int64_t>(cap, std::ssize(expected)));
    double least = 1;
    for (int64_t node = 0; node < tree.nodes(); ++node) {
      const auto n = static_cast<size_t>(node);
      ASSERT_LT(tree.parents[n], node);
      std::vector<int32_t> path;
      for (int32_t each = static_cast<int32_t>(node); each >= 0; each = tree.parents[static_cast<size_t>(each)])
        path.insert(path.begin(), tree.ids[static_cast<size_t>(each)]);
      ASSERT_EQ(std::ssize(path), tree.positions[n] + 1);
      ASSERT_EQ(tree.weights[n], expected.at(path));
      ASSERT_LE(tree.weights[n], least);
      least = tree.weights[n];
      expected.erase(path);
    }
    for (const auto& [path, weight] : expected) ASSERT_LE(weight, least) << "left out";
  }
}

}  // namespace
}  // namespace tandem
