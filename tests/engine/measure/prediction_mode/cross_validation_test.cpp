// Errors of prediction and interpolation, on made-up points.
#include "engine/measure/prediction_mode/cross_validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

constexpr const char* kAnyFormat = "i8.g32.half";

std::vector<MeasuredPoint> points_with_tokens(std::vector<int64_t> tokens) {
  std::vector<MeasuredPoint> points;
  for (const int64_t K : {512, 1024, 2048}) {
    for (const int64_t rows : {64, 256, 512, 1024, 4096}) {
      for (const int64_t S : tokens) points.push_back({{kAnyFormat, S, K, rows, false}, 1e-6});
    }
  }
  return points;
}

TEST(HeldOut, takes_every_second_shape_with_all_its_tokens) {
  const auto points = points_with_tokens({1, 8, 64});
  const Halves halves = halves_by_shape(points);
  EXPECT_EQ(halves.learnt_shapes, 8u);  // 3 K x 5 rows are 15 shapes
  EXPECT_EQ(halves.held_out_shapes, 7u);
  EXPECT_EQ(halves.learnt.size(), 8u * 3);
  EXPECT_EQ(halves.held_out.size(), 7u * 3);
  for (const MeasuredPoint& held : halves.held_out) {
    for (const MeasuredPoint& learnt : halves.learnt)
      EXPECT_FALSE(held.point.K == learnt.point.K && held.point.rows == learnt.point.rows);
  }
}

TEST(HeldOut, counts_errors_relative_to_what_was_measured) {
  const MatMulPrediction prediction =
      MatMulPrediction::of_graphs(std::vector<MeasuredPoint>{{{kAnyFormat, 1, 512, 64, false}, 1e-6}});
  // Each is predicted as 2 us and measured as 1, 2 and 4 us: the errors are 100 %, 0 and 50 %.
  const MatMulPoint two{kAnyFormat, 2, 512, 64, false};
  const PredictionErrors errors =
      errors_of(prediction, std::vector<MeasuredPoint>{{two, 1e-6}, {two, 2e-6}, {two, 4e-6}});
  EXPECT_EQ(errors.points, 3u);
  EXPECT_NEAR(errors.median, 0.5, 1e-9);
  EXPECT_NEAR(errors.ninth_decile, 1, 1e-9);
}

TEST(HeldOut, compares_other_sizes_with_the_line_between_standard_ones) {
  const auto at = [](int64_t S, double seconds) { return MeasuredPoint{{kAnyFormat, S, 512, 64, false}, seconds}; };
  // 24 lies between 16 (2 s) and 32 (4 s), so the line says 3 s. The measurement is 4 s: 25 % off. No standard size is
  // above 100.
  const PredictionErrors errors =
      errors_between_sizes(std::vector<MeasuredPoint>{at(16, 2), at(32, 4), at(24, 4), at(100, 9)});
  EXPECT_EQ(errors.points, 1u);
  EXPECT_DOUBLE_EQ(errors.median, 0.25);
}

TEST(TokenInterpolation, is_linear_between_two_sizes_and_asks_for_no_other) {
  const std::vector<int64_t> sizes = {1, 8, 32, 64};
  std::vector<int64_t> asked;
  const auto seconds = [&](int64_t S) {
    asked.push_back(S);
    return S == 32 ? 10.0 : 26.0;
  };
  // 44 is 12 of the 32 steps from 32 to 64: 10 + (26 - 10) * 12 / 32 = 16
  EXPECT_DOUBLE_EQ(interpolate_tokens(sizes, 44, seconds), 16);
  EXPECT_THAT(asked, ::testing::UnorderedElementsAre(32, 64));
  asked.clear();
  EXPECT_DOUBLE_EQ(interpolate_tokens(sizes, 32, seconds), 10);
  EXPECT_THAT(asked, ::testing::ElementsAre(32));
}

TEST(TokenInterpolation, goes_on_beyond_the_sizes) {
  const auto seconds = [](int64_t S) { return 5.0 + 2 * static_cast<double>(S); };
  const std::vector<int64_t> sizes = {4, 16, 32}, one = {16};
  EXPECT_DOUBLE_EQ(interpolate_tokens(sizes, 100, seconds), 205);
  EXPECT_DOUBLE_EQ(interpolate_tokens(sizes, 1, seconds), 13) << "what 4 tokens cost";
  EXPECT_DOUBLE_EQ(interpolate_tokens(one, 32, seconds), 74) << "37 for 16";
}

}  // namespace
}  // namespace tandem
