// The runs of columns that every sum is made of (packed/runs.h), on numbers that were worked out by hand.
#include "packed/runs.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tandem {
namespace {

using Columns = std::vector<std::pair<int64_t, int64_t>>;

Columns runs_of(int64_t columns) {
  Columns runs;
  for (ColumnRun run(columns); run.is_valid(); run.next()) runs.emplace_back(run.first_column(), run.end_column());
  return runs;
}

// 2,048 columns are 32 tiles, two for each run.
TEST(Runs, of_2048_columns_are_sixteen_of_128) {
  const Columns runs = runs_of(2048);
  ASSERT_EQ(runs.size(), 16U);
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(runs[static_cast<size_t>(i)], std::pair(128 * i, 128 * (i + 1)));
}

// 160 columns are three tiles. Runs 5, 10 and 15 end behind tiles 1, 2 and 3: 3 * 6 / 16 = 1, 3 * 11 / 16 = 2.
TEST(Runs, without_tiles_are_left_out_and_the_last_tile_may_be_short) {
  EXPECT_EQ(runs_of(160), (Columns{{0, 64}, {64, 128}, {128, 160}}));
  EXPECT_EQ(runs_of(1), (Columns{{0, 1}}));
}

// 18 tiles: run p begins at tile 18 p / 16, so runs 7 and 15 have two tiles (7, 8 and 16, 17).
TEST(Runs, of_18_tiles_have_one_or_two) {
  const Columns runs = runs_of(18 * 64 - 5);
  ASSERT_EQ(runs.size(), 16U);
  for (size_t i = 0; i < 16; ++i) {
    const int64_t first = 18 * static_cast<int64_t>(i) / 16;
    EXPECT_EQ(runs[i].first, 64 * first);
    if (i != 7 && i != 15) {
      EXPECT_EQ(runs[i].second - runs[i].first, 64) << i;
    }
  }
  EXPECT_EQ(runs[7], std::pair(int64_t{448}, int64_t{576}));
  EXPECT_EQ(runs[15], std::pair(int64_t{16 * 64}, int64_t{18 * 64 - 5}));
}

TEST(Runs, say_which_is_the_first_and_which_the_last) {
  ColumnRun run(130);
  EXPECT_TRUE(run.is_first() && !run.is_last());
  run.next();
  EXPECT_TRUE(!run.is_first() && !run.is_last());
  run.next();
  EXPECT_TRUE(!run.is_first() && run.is_last());
  run.next();
  EXPECT_FALSE(run.is_valid());
}

}  // namespace
}  // namespace tandem
