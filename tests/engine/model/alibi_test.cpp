#include "engine/model/alibi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

TEST(Alibi, slopes_of_a_power_of_two_heads_fall_by_one_factor) {
  EXPECT_THAT(alibi_slopes(8, 8), ElementsAre(0.5f, 0.25f, 0.125f, 0x1p-4f, 0x1p-5f, 0x1p-6f, 0x1p-7f, 0x1p-8f));
  EXPECT_THAT(alibi_slopes(1, 8), ElementsAre(0x1p-8f));
  EXPECT_THAT(alibi_slopes(2, 6), ElementsAre(0x1p-3f, 0x1p-6f));
}

// Eight of twelve heads have the slopes of eight heads. The others have every second slope of sixteen.
TEST(Alibi, further_heads_have_slopes_between_those) {
  const float root = std::sqrt(0.5f);
  EXPECT_THAT(alibi_slopes(12, 8), ElementsAre(0.5f, 0.25f, 0.125f, 0x1p-4f, 0x1p-5f, 0x1p-6f, 0x1p-7f, 0x1p-8f,
                                               FloatEq(root), FloatEq(root / 2), FloatEq(root / 4), FloatEq(root / 8)));
}

}  // namespace
}  // namespace tandem
