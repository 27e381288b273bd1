#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "engine/plan/strategy.h"
#include "sync/error.h"

namespace tandem {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

std::vector<int64_t> cut_in_two(int64_t N, double second) { return cut_rows(N, std::array{1 - second, second}); }

TEST(CutRows, gives_whole_panels_to_the_first_device) {
  EXPECT_THAT(cut_in_two(576, 0.5), ElementsAre(320, 576)) << "9 panels: 4.5 rounds to 5";
  EXPECT_THAT(cut_in_two(1536, 0.5), ElementsAre(768, 1536));
  EXPECT_THAT(cut_in_two(1000, 0.25), ElementsAre(768, 1000)) << "16 panels, the last one of 40 rows: 12 of them";
}

TEST(CutRows, leaves_nothing_or_everything_at_the_ends) {
  EXPECT_THAT(cut_in_two(576, 0.0), ElementsAre(576, 576));
  EXPECT_THAT(cut_in_two(576, 1.0), ElementsAre(0, 576));
  EXPECT_THAT(cut_in_two(576, 0.01), ElementsAre(576, 576)) << "less than half a panel is not worth a cut";
  EXPECT_THAT(cut_in_two(576, 0.99), ElementsAre(0, 576));
  EXPECT_THAT(cut_in_two(64, 0.4), ElementsAre(64, 64)) << "one panel cannot be cut";
}

TEST(CutRows, cuts_among_any_number_of_devices) {
  EXPECT_THAT(cut_rows(640, std::array{0.5, 0.3, 0.2}), ElementsAre(320, 512, 640));
  EXPECT_THAT(cut_rows(650, std::array{0.0, 0.5, 0.5}), ElementsAre(0, 384, 650)) << "11 panels: 5.5 rounds to 6";
  EXPECT_THAT(cut_rows(640, std::array{1.0}), ElementsAre(640));
}

TEST(CutRows, refuses_shares_that_leave_rows_over) {
  EXPECT_THROW(cut_rows(640, std::array{0.5, 0.3}), Error);
  EXPECT_THROW(cut_rows(640, std::span<const double>{}), Error);
}

// H9 by hand: N = 256 is four panels. For all rows the first device takes 8 s and the second 24 s. Joining costs 1 s.
//   all rows on the first device: 8; all on the second: 24 + 1
//   1 to 3 panels on the first: max(2, 18) + 1 = 19, max(4, 12) + 1 = 13, max(6, 6) + 1 = 7
TEST(BestRowCut, takes_the_cut_with_the_least_time) {
  const RowCut cut = best_row_cut(256, std::array{8.0, 24.0}, 1);
  EXPECT_DOUBLE_EQ(cut.seconds, 7);
  EXPECT_THAT(cut_rows(256, cut.shares), ElementsAre(192, 256));
}

TEST(BestRowCut, does_not_cut_when_joining_costs_more_than_it_saves) {
  const RowCut cut = best_row_cut(256, std::array{8.0, 24.0}, 3);  // the best cut takes 6 + 3 = 9 > 8
  EXPECT_DOUBLE_EQ(cut.seconds, 8);
  EXPECT_THAT(cut.shares, ElementsAre(1, 0));
}

TEST(BestRowCut, gives_all_rows_to_a_second_device_that_is_far_faster) {
  // All rows on the second device take 1 + 0.5, and half of them max(50, 0.5) + 0.5.
  const RowCut cut = best_row_cut(128, std::array{100.0, 1.0}, 0.5);
  EXPECT_DOUBLE_EQ(cut.seconds, 1.5);
  EXPECT_THAT(cut.shares, ElementsAre(0, 1));
}

// Seven panels take 7, 14 and 14 s in all, so a panel takes 1, 2 and 2 s. The first device takes 4 panels, the others 2
// and 1 (max(4, 4, 2) = 4; 3 + 2 + 2 would also end at 4). Two joins add 0.25 s each. Two devices alone take 5 and 2
// panels: 5 + 0.25.
TEST(BestRowCut, uses_three_devices_when_all_of_them_pay) {
  const RowCut cut = best_row_cut(448, std::array{7.0, 14.0, 14.0}, 0.25);
  EXPECT_DOUBLE_EQ(cut.seconds, 4.5);
  const RowCut dear = best_row_cut(448, std::array{7.0, 14.0, 14.0}, 1.5);
  EXPECT_DOUBLE_EQ(dear.seconds, 6.5) << "the third device saves one second and its join costs 1.5";
  EXPECT_THAT(dear.shares, ElementsAre(DoubleEq(5.0 / 7), DoubleEq(2.0 / 7), 0));
}

TEST(BestRowCut, leaves_out_a_device_that_cannot_run_the_operator) {
  const double never = std::numeric_limits<double>::infinity();
  EXPECT_THAT(best_row_cut(128, std::array{never, 2.0}, 0.1).shares, ElementsAre(0, 1));
  EXPECT_THROW(best_row_cut(128, std::array{never, never}, 0.1), Error);
}

}  // namespace
}  // namespace tandem
