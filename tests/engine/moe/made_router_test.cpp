// Groups of directions and the routers made from them, on vectors in the plane with obvious groups.
#include "engine/moe/made_router.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "engine/moe/spherical_kmeans.h"
#include "sync/error.h"

namespace tandem {
namespace {

// Vectors with the given angles in degrees. The n-th vector has length n + 1.
std::vector<float> at_angles(const std::vector<double>& degrees) {
  std::vector<float> rows;
  for (const double angle : degrees) {
    const double length = 1 + static_cast<double>(rows.size() / 2), radians = angle * std::numbers::pi / 180;
    rows.push_back(static_cast<float>(length * std::cos(radians)));
    rows.push_back(static_cast<float>(length * std::sin(radians)));
  }
  return rows;
}

double angle_of(const DirectionGroups& groups, int32_t group) {
  const float* centre = groups.centres.data() + 2 * group;
  EXPECT_NEAR(std::hypot(centre[0], centre[1]), 1, 1e-6);
  return std::atan2(centre[1], centre[0]) * 180 / std::numbers::pi;
}

// From any two of these vectors as starts, a few rounds end at {0, 10, 20} and {90, 100}, with the middles 10 and 95.
// If the lengths 1 to 5 counted, the sums would lie at 13.3 and 95.6.
TEST(DirectionGroups, are_found_from_any_start_and_do_not_heed_lengths) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const DirectionGroups groups = group_directions(at_angles({0, 10, 20, 90, 100}), 2, 2, seed);
    const int32_t first = groups.group_of[0], second = groups.group_of[4];
    EXPECT_NE(first, second);
    EXPECT_EQ(groups.group_of, (std::vector<int32_t>{first, first, first, second, second}));
    EXPECT_NEAR(angle_of(groups, first), 10, 1e-3);
    EXPECT_NEAR(angle_of(groups, second), 95, 1e-3);
    EXPECT_LT(groups.rounds, 6);
  }
}

// The chance of a vector grows with its distance, so three starts almost surely lie in three distant groups. Random
// starts would do so in 6 of 27 cases. Two starts in one group would never part here.
TEST(DirectionGroups, begin_far_apart) {
  std::vector<double> degrees;
  for (const double around : {0, 120, 240})
    for (int i = 0; i < 5; ++i) degrees.push_back(around + i * 0.5);
  int found = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto groups = group_directions(at_angles(degrees), 2, 3, seed).group_of;
    found += groups[0] != groups[5] && groups[5] != groups[10] && groups[0] != groups[10];
  }
  EXPECT_GE(found, 49);
}

TEST(DirectionGroups, of_each_vector_alone_and_of_equal_vectors) {
  const DirectionGroups alone = group_directions(at_angles({0, 90, 180}), 2, 3, 5);
  EXPECT_NE(alone.group_of[0], alone.group_of[1]);
  EXPECT_NE(alone.group_of[1], alone.group_of[2]);
  EXPECT_NE(alone.group_of[0], alone.group_of[2]);
  const DirectionGroups equal = group_directions(at_angles({30, 30, 30}), 2, 2, 5);
  EXPECT_EQ(equal.group_of, (std::vector<int32_t>{0, 0, 0})) << "of equals the lowest index";
  EXPECT_NEAR(angle_of(equal, 1), 30, 1e-3) << "a group without rows keeps its centre";
  EXPECT_THROW(group_directions(at_angles({0, 90}), 2, 3, 1), Error);
}

TEST(DirectionGroups, are_the_same_for_the_same_seed) {
  std::vector<double> degrees;
  for (int i = 0; i < 40; ++i) degrees.push_back(i * 9);
  const auto first = group_directions(at_angles(degrees), 2, 7, 3),
             second = group_directions(at_angles(degrees), 2, 7, 3);
  EXPECT_EQ(first.centres, second.centres);
  EXPECT_EQ(first.group_of, second.group_of);
  EXPECT_NE(group_directions(at_angles(degrees), 2, 7, 4).centres, first.centres);
}

// With the centres (1, 0) and (0, 1) the scores of the inputs are 3 and 0, or 0 and 3. They deviate from 1.5 by 1.5.
// The router is 1 / 1.5 times the centres, so its scores deviate by 1.
TEST(MadeRouter, has_scores_that_deviate_by_one) {
  const std::vector<float> router = router_of(std::vector<float>{3, 0, 0, 3}, 2, 2, 1);
  const float row = 2.0f / 3;
  const bool swapped = router[0] == 0;
  EXPECT_EQ(router, swapped ? (std::vector<float>{0, row, row, 0}) : (std::vector<float>{row, 0, 0, row}));
}

TEST(MadeRouter, of_inputs_of_one_direction_is_even) {
  EXPECT_EQ(router_of(std::vector<float>{1, 1, 2, 2, 3, 3}, 2, 2, 1), (std::vector<float>{0, 0, 0, 0}));
}

}  // namespace
}  // namespace tandem
