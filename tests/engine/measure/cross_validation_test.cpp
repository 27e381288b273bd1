// Errors of prediction and interpolation, on made-up points.
#include "engine/measure/cross_validation.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

constexpr const char* kFormat = "i8.g32.half";

std::vector<MeasuredPoint> points_of(std::vector<int64_t> tokens) {
  std::vector<MeasuredPoint> points;
  for (const int64_t K : {512, 1024, 2048}) {
    for (const int64_t rows : {64, 256, 512, 1024, 4096}) {
      for (const int64_t S : tokens) points.push_back({{kFormat, S, K, rows, false}, 1e-6});
    }
  }
  return points;
}

TEST(HeldOut, takes_every_second_shape_with_all_its_tokens) {
  const auto points = points_of({1, 8, 64});
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
      MatMulPrediction::fit(DeviceKind::npu, std::vector<MeasuredPoint>{{{kFormat, 1, 512, 64, false}, 1e-6}});
  // Predicted 2 us each; measured 1, 2, 4 us: errors 100 %, 0, 50 %.
  const MatMulPoint two{kFormat, 2, 512, 64, false};
  const PredictionErrors errors =
      errors_of(prediction, std::vector<MeasuredPoint>{{two, 1e-6}, {two, 2e-6}, {two, 4e-6}});
  EXPECT_EQ(errors.points, 3u);
  EXPECT_NEAR(errors.median, 0.5, 1e-9);
  EXPECT_NEAR(errors.ninth_decile, 1, 1e-9);
}

TEST(HeldOut, compares_other_sizes_with_the_line_between_standard_ones) {
  const auto at = [](int64_t S, double seconds) { return MeasuredPoint{{kFormat, S, 512, 64, false}, seconds}; };
  // 24 lies between 16 (2 s) and 32 (4 s): 3 s, measured 4: 25 % off. 100 has no standard size above it.
  const PredictionErrors errors =
      errors_between_sizes(std::vector<MeasuredPoint>{at(16, 2), at(32, 4), at(24, 4), at(100, 9)});
  EXPECT_EQ(errors.points, 1u);
  EXPECT_DOUBLE_EQ(errors.median, 0.25);
}

}  // namespace
}  // namespace tandem
