// Prediction mode of the profiler (H8) on made-up machines with known constants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "engine/measure/prediction_mode/matmul_prediction.h"
#include "sync/error.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

constexpr const char* kFormat = "i8.g32.half";  // 8 bits, and a half scale for 32 weights: 1.0625 bytes

using Machine = std::function<double(const MatMulPoint&)>;

std::vector<MeasuredPoint> measured_on(const Machine& seconds, std::vector<int64_t> tokens, bool both = false) {
  std::vector<MeasuredPoint> points;
  for (const int64_t K : {512, 1024, 2048}) {
    for (const int64_t rows : {64, 256, 512, 1024, 4096}) {
      for (const int64_t S : tokens) {
        const MatMulPoint point{kFormat, S, K, rows, both};
        points.push_back({point, seconds(point)});
      }
    }
  }
  return points;
}

TEST(MatMulPoints, know_their_bytes_and_flops) {
  const MatMulPoint point{kFormat, 3, 512, 65, false};
  // 65 rows are two panels: 128 rows of 512 weights.
  EXPECT_DOUBLE_EQ(weight_bytes(point), 128 * 512 * 1.0625);
  EXPECT_DOUBLE_EQ(flops(point), 2.0 * 3 * 512 * 65);
  EXPECT_DOUBLE_EQ(bytes_per_weight("f16"), 2);
  EXPECT_DOUBLE_EQ(bytes_per_weight("i4.g32.half.min"), 0.5 + 4.0 / 32);  // a scale and a minimum of two bytes each
  EXPECT_THROW(bytes_per_weight("i3"), Error);
}

TEST(MatMulPoints, spread_over_their_median) {
  EXPECT_DOUBLE_EQ((MeasuredSeconds{4, 3, 5, 7}.spread()), 0.5);
  EXPECT_DOUBLE_EQ(MeasuredSeconds{}.spread(), 0);
}

TEST(GpuPrediction, is_a_launch_and_the_slower_of_memory_and_arithmetic) {
  const GpuRates rates{.flops_per_second = 1e9,
                       .bytes_per_second = 1e9,
                       .launch_one_seconds = 1e-6,
                       .launch_seconds = 1e-5,
                       .unpack_tokens_of_small_batch = 1,
                       .unpack_tokens_of_large_batch = 4};
  const int64_t K = 512, rows = 64;
  const double weights = 512.0 * 64, bytes = weights * 1.0625;
  // One token: 2 flops a weight for 1 + 1 tokens take 4 ns, more than 1.0625 bytes at 1 GB/s.
  EXPECT_DOUBLE_EQ(rates.seconds({kFormat, 1, K, rows, false}), 1e-6 + 4 * weights * 1e-9);
  EXPECT_DOUBLE_EQ(rates.seconds({kFormat, 8, K, rows, false}), 1e-5 + 2 * (8 + 1) * weights * 1e-9);
  EXPECT_DOUBLE_EQ(rates.seconds({kFormat, 16, K, rows, false}), 1e-5 + 2 * (16 + 4) * weights * 1e-9);
  GpuRates slow_memory = rates;
  slow_memory.bytes_per_second = 1e8;
  EXPECT_DOUBLE_EQ(slow_memory.seconds({kFormat, 1, K, rows, false}), 1e-6 + bytes * 1e-8);
  EXPECT_DOUBLE_EQ(rates.seconds({kFormat, 16, K, 63, false}), rates.seconds({kFormat, 16, K, 64, false}))
      << "a panel is read and computed whole";
}

TEST(GpuPrediction, finds_the_constants_of_a_machine_that_is_like_its_formula) {
  const GpuRates machine{.flops_per_second = 2e11,
                         .bytes_per_second = 3e10,
                         .launch_one_seconds = 5e-7,
                         .launch_seconds = 4e-6,
                         .unpack_tokens_of_small_batch = 1.5,
                         .unpack_tokens_of_large_batch = 5};
  const auto points = measured_on([&](const MatMulPoint& point) { return machine.seconds(point); },
                                  {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024});
  const GpuRates fitted = fit_gpu_rates(points);
  // The iterations end when no constant changes by more than 1e-9 of itself. Their rate of convergence limits
  // the accuracy.
  constexpr double kNear = 1e-4;
  EXPECT_NEAR(fitted.flops_per_second / machine.flops_per_second, 1, kNear);
  EXPECT_NEAR(fitted.bytes_per_second / machine.bytes_per_second, 1, kNear);
  EXPECT_NEAR(fitted.launch_one_seconds / machine.launch_one_seconds, 1, kNear);
  EXPECT_NEAR(fitted.launch_seconds / machine.launch_seconds, 1, kNear);
  EXPECT_NEAR(fitted.unpack_tokens_of_small_batch / machine.unpack_tokens_of_small_batch, 1, kNear);
  EXPECT_NEAR(fitted.unpack_tokens_of_large_batch / machine.unpack_tokens_of_large_batch, 1, kNear);
}

TEST(GpuPrediction, takes_the_bandwidth_beside_another_device_from_points_that_had_one) {
  const GpuRates alone{1e11, 4e10, 0, 0, 0, 0};
  const auto points = measured_on([](const MatMulPoint& point) { return weight_bytes(point) / 3e10; }, {1}, true);
  EXPECT_NEAR(with_bandwidth_of(alone, points).bytes_per_second, 3e10, 1);
  EXPECT_EQ(with_bandwidth_of(alone, points).flops_per_second, 1e11);
  EXPECT_EQ(with_bandwidth_of(alone, {}).bytes_per_second, 4e10);
}

TEST(GpuPrediction, says_what_it_misses) {
  const auto message = [](std::vector<int64_t> tokens) -> std::string {
    try {
      fit_gpu_rates(measured_on([](const MatMulPoint&) { return 1.0; }, std::move(tokens)));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message({1, 2, 8}), HasSubstr("more than 8 tokens"));
  EXPECT_THAT(message({64}), HasSubstr("a single token"));
  EXPECT_EQ(message({1, 64}), "");
}

// An array that computes blocks of 8 tokens. It is half as fast for narrow matrices.
double block_machine(const MatMulPoint& point) {
  const double blocks = std::ceil(static_cast<double>(point.S) / 8) * 8;
  return blocks * static_cast<double>(point.K * point.rows) * (point.K < 1000 ? 2e-11 : 1e-11);
}

TEST(NpuPrediction, learns_what_no_roofline_says_and_goes_on_at_the_rate_of_the_largest) {
  const auto points = measured_on(block_machine, {1, 2, 4, 8, 16, 64});
  const NpuPrediction prediction = NpuPrediction::fit(points);
  for (const MeasuredPoint& measured : points)
    EXPECT_NEAR(prediction.seconds(measured.point) / measured.seconds, 1, 1e-9) << to_string(measured.point);
  const MatMulPoint larger{kFormat, 512, 4096, 8192, false};
  EXPECT_NEAR(prediction.seconds(larger) / block_machine(larger), 1, 1e-9);
}

TEST(MatMulPrediction, of_a_gpu_has_rates_for_each_weight_format_with_enough_points) {
  const GpuRates machine{1e11, 3e10, 0, 0, 0, 0};
  auto points = measured_on([&](const MatMulPoint& point) { return machine.seconds(point); }, {1, 8, 64, 256});
  points.push_back({{"f16", 1, 64, 64, false}, 1e-6});
  const MatMulPrediction prediction = MatMulPrediction::of_kernels(points);
  const MatMulPoint known{kFormat, 100, 512, 512, false}, unknown{"f16", 100, 512, 512, false};
  EXPECT_TRUE(prediction.knows(known));
  EXPECT_NEAR(prediction.seconds(known) / machine.seconds(known), 1, 1e-6);
  EXPECT_FALSE(prediction.knows(unknown)) << "one token alone does not show a rate";
  EXPECT_THROW(prediction.seconds(unknown), Error);
  EXPECT_THROW(MatMulPrediction::of_kernels(std::vector<MeasuredPoint>{points.back()}), Error);
}

}  // namespace
}  // namespace tandem
