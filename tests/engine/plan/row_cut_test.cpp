#include <gtest/gtest.h>

#include "engine/plan/strategy.h"

namespace tandem {
namespace {

TEST(CutRows, gives_whole_panels_to_the_first_device) {
  EXPECT_EQ(cut_rows(576, 0.5), 320) << "9 panels: 4.5 rounds to 5";
  EXPECT_EQ(cut_rows(1536, 0.5), 768);
  EXPECT_EQ(cut_rows(1000, 0.25), 768) << "16 panels, the last one of 40 rows: 12 of them";
}

TEST(CutRows, leaves_nothing_or_everything_at_the_ends) {
  EXPECT_EQ(cut_rows(576, 0.0), 576);
  EXPECT_EQ(cut_rows(576, 1.0), 0);
  EXPECT_EQ(cut_rows(576, 0.01), 576) << "less than half a panel is not worth a cut";
  EXPECT_EQ(cut_rows(576, 0.99), 0);
  EXPECT_EQ(cut_rows(64, 0.4), 64) << "one panel cannot be cut";
}

// H9 by hand: N = 256 is four panels; the first device takes 8 s for all rows, the second 24 s, joining costs 1 s.
//   all first: 8; all second: 24 + 1; cuts 1..3 panels on the first: max(2, 18) + 1 = 19, max(4, 12) + 1 = 13, max(6,
//   6) + 1 = 7.
TEST(BestRowCut, takes_the_cut_with_the_least_time) {
  const RowCut cut = best_row_cut(256, 8, 24, 1);
  EXPECT_DOUBLE_EQ(cut.seconds, 7);
  EXPECT_EQ(cut_rows(256, cut.share), 192);
}

TEST(BestRowCut, does_not_cut_when_joining_costs_more_than_it_saves) {
  const RowCut cut = best_row_cut(256, 8, 24, 3);  // the best cut takes 6 + 3 = 9 > 8
  EXPECT_DOUBLE_EQ(cut.seconds, 8);
  EXPECT_EQ(cut.share, 0);
}

TEST(BestRowCut, gives_all_rows_to_a_second_device_that_is_far_faster) {
  const RowCut cut = best_row_cut(128, 100, 1, 0.5);  // all second: 1.5; half and half: max(50, 0.5) + 0.5
  EXPECT_DOUBLE_EQ(cut.seconds, 1.5);
  EXPECT_EQ(cut.share, 1);
}

}  // namespace
}  // namespace tandem
