// The longest rows whose loops are proven, on GPU devices. With the chosen values results are exact in any order, and
// an element that a loop did not reach shows.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "engine/device/host/host_device.h"
#include "shaders/limits.h"
#include "tests/engine/device/gpu/gpu_bench.h"

namespace tandem::testing {
namespace {

constexpr int64_t kWidth = TANDEM_MAX_ROW;
constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

class Rows : public GpuBench {
 protected:
  Operand row_of(int64_t count, const char* label) { return take(static_cast<size_t>(count) * sizeof(float), label); }
};

TEST_P(Rows, of_a_norm_reach_their_last_element) {
  RmsNorm op;
  op.S = 1, op.width = op.x_stride = op.y_stride = op.add_stride = kWidth, op.eps = 0;
  op.x = row_of(kWidth, "x"), op.y = row_of(kWidth, "y"), op.add = row_of(kWidth, "add");
  op.weight = row_of(kWidth, "weight");
  for (int64_t i = 0; i < kWidth; ++i) {
    op.x.as<float>()[i] = 1, op.add.as<float>()[i] = i % 2 == 0 ? 1.0f : -3.0f;
    op.weight.as<float>()[i] = static_cast<float>(i % 7);
  }
  run({"rms_norm", op});
  for (int64_t i = 0; i < kWidth; ++i) {  // 2 or -2, so the mean square is 4
    const float sign = i % 2 == 0 ? 1.0f : -1.0f;
    ASSERT_EQ(op.x.as<float>()[i], 2 * sign) << i;
    ASSERT_FLOAT_EQ(op.y.as<float>()[i], sign * static_cast<float>(i % 7)) << i;
  }
}

TEST_P(Rows, of_a_norm_whose_squares_overflow_are_nan) {
  for (const bool centred : {false, true}) {
    RmsNorm op;
    op.S = 2, op.width = op.x_stride = op.y_stride = 40, op.centred = centred;
    op.x = row_of(2 * op.width, "x"), op.y = row_of(2 * op.width, "y"), op.weight = row_of(op.width, "weight");
    std::fill_n(op.weight.as<float>(), op.width, 1.0f);
    for (int64_t i = 0; i < op.width; ++i) {
      const float sign = i % 2 == 0 ? 1.0f : -1.0f;
      op.x.as<float>()[i] = sign * 0x1p60f, op.x.as<float>()[op.width + i] = sign * 0x1p65f;
    }
    run({"rms_norm", op});
    for (int64_t i = 0; i < op.width; ++i) {
      ASSERT_EQ(op.y.as<float>()[i], i % 2 == 0 ? 1.0f : -1.0f) << "centred " << centred << ", element " << i;
      ASSERT_TRUE(std::isnan(op.y.as<float>()[op.width + i])) << "centred " << centred << ", element " << i;
    }
  }
}

// Widths around those of a vector and of a work-group. The gaps between rows keep their mark.
TEST_P(Rows, of_a_norm_take_the_residual_once_whatever_their_width) {
  constexpr float kMark = 77;
  for (const int64_t width : {1, 15, 16, 17, 63, 64, 65, 577}) {
    SCOPED_TRACE("width " + std::to_string(width));
    RmsNorm op;
    op.S = 3, op.width = width, op.x_stride = op.y_stride = width + 2, op.add_stride = width + 5, op.eps = 0;
    op.x = row_of(3 * op.x_stride, "x"), op.y = row_of(3 * op.y_stride, "y"), op.add = row_of(3 * op.add_stride, "add");
    op.weight = row_of(width, "weight");
    float *x = op.x.as<float>(), *y = op.y.as<float>();
    std::fill_n(x, 3 * op.x_stride, kMark), std::fill_n(y, 3 * op.y_stride, kMark);
    std::fill_n(op.add.as<float>(), 3 * op.add_stride, kNaN), std::fill_n(op.weight.as<float>(), width, 3.0f);
    for (int64_t s = 0; s < 3; ++s) {
      for (int64_t i = 0; i < width; ++i) {
        x[s * op.x_stride + i] = static_cast<float>(1 + (s + i) % 3);
        op.add.as<float>()[s * op.add_stride + i] = static_cast<float>(2 + (s + 2 * i) % 5);
      }
    }
    run({"rms_norm", op});
    for (int64_t s = 0; s < 3; ++s) {
      double squares = 0;
      for (int64_t i = 0; i < width; ++i) {
        const auto sum = static_cast<float>(1 + (s + i) % 3 + 2 + (s + 2 * i) % 5);
        ASSERT_EQ(x[s * op.x_stride + i], sum) << "token " << s << " element " << i;
        squares += static_cast<double>(sum) * sum;
      }
      // The squares and their sum are whole numbers below 2^24, so they are exact. Seven roundings follow: mean, root,
      // quotient, two products, and one more ulp each for a shader's root and quotient.
      const double inverse = 1 / std::sqrt(squares / static_cast<double>(width));
      for (int64_t i = 0; i < width; ++i) {
        const double expected = 3 * inverse * x[s * op.x_stride + i];
        ASSERT_NEAR(y[s * op.y_stride + i], expected, expected * 8 * kEpsilon) << "token " << s << " element " << i;
      }
      EXPECT_EQ(x[s * op.x_stride + width], kMark);
      EXPECT_EQ(y[s * op.y_stride + width], kMark);
    }
  }
}

TEST_P(Rows, of_a_softmax_reach_their_last_element) {
  Softmax op;
  op.S = 2, op.width = kWidth, op.x_stride = kWidth + 3, op.x = row_of(2 * op.x_stride, "x");
  float* x = op.x.as<float>();
  std::fill_n(x, 2 * op.x_stride, 7.0f);
  for (int64_t s = 0; s < 2; ++s) x[s * op.x_stride + kWidth - 1 - s] = -kInfinity;
  run({"softmax", op});
  for (int64_t s = 0; s < 2; ++s)
    for (int64_t i = 0; i < kWidth; ++i)
      ASSERT_FLOAT_EQ(x[s * op.x_stride + i], i == kWidth - 1 - s ? 0.0f : 1.0f / static_cast<float>(kWidth - 1)) << i;
  EXPECT_EQ(x[kWidth], 7.0f);
}

TEST_P(Rows, of_rope_reach_their_last_pair) {
  for (RopeLayout layout : {RopeLayout::interleaved, RopeLayout::halves}) {
    Rope op;
    op.S = 1, op.head_dim = op.rot_dim = 256, op.heads = kWidth / op.rot_dim, op.layout = layout, op.x_stride = kWidth;
    op.x = row_of(kWidth, "x"), op.positions = row_of(1, "positions"), op.table = row_of(op.rot_dim, "table");
    op.table_positions = 1;
    for (int64_t i = 0; i < kWidth; ++i) op.x.as<float>()[i] = static_cast<float>(i + 1);
    for (int64_t j = 0; j < op.rot_dim; ++j) op.table.as<float>()[j] = static_cast<float>(j % 2);  // a quarter turn
    *op.positions.as<int32_t>() = 0;
    run({"rope", op});
    for (int64_t i = 0; i < kWidth; ++i) {
      const bool halves = layout == RopeLayout::halves;
      const bool first = halves ? i % 256 < 128 : i % 2 == 0;
      const int64_t other = first ? i + (halves ? 128 : 1) : i - (halves ? 128 : 1);
      ASSERT_EQ(op.x.as<float>()[i], static_cast<float>(other + 1) * (first ? -1.0f : 1.0f)) << i;
    }
  }
}

TEST_P(Rows, of_argmax_reach_their_last_element_and_give_the_first_of_equals) {
  ArgMax op;
  op.S = 4, op.width = op.x_stride = kWidth;
  op.x = row_of(4 * kWidth, "x"), op.ids = row_of(4, "ids");
  float* x = op.x.as<float>();
  for (int64_t i = 0; i < 3 * kWidth; ++i) x[i] = static_cast<float>(-1 - i % 100);
  std::fill_n(x + 3 * kWidth, kWidth, kNaN);
  x[kWidth - 1] = -0.5f;
  x[kWidth + 77777] = -0.0f, x[kWidth + 77778] = 0.0f, x[kWidth + 77776] = kNaN;  // both zeros are equal
  x[2 * kWidth + 5] = kInfinity, x[2 * kWidth + kWidth - 1] = kInfinity;
  run({"argmax", op});
  const std::vector<int32_t> expected{static_cast<int32_t>(kWidth) - 1, 77777, 5, 0};
  EXPECT_EQ(std::vector<int32_t>(op.ids.as<int32_t>(), op.ids.as<int32_t>() + 4), expected);
}

// The indices of the row x, in the order of top-k.
std::vector<int32_t> falling(const float* x, int64_t width) {
  std::vector<int32_t> order(static_cast<size_t>(width));
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int32_t i) { return std::isnan(x[i]) ? -kInfinity : x[i]; };
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return key(a) > key(b); });
  return order;
}

TEST_P(Rows, of_top_k_reach_their_last_element_and_order_equals_by_index) {
  std::mt19937 random(5);
  for (int64_t width : {int64_t{64}, int64_t{4097}, kWidth}) {
    TopK op;
    op.S = 4, op.width = width, op.x_stride = width + 1, op.k = 64;
    op.x = row_of(4 * op.x_stride, "x"), op.ids = row_of(4 * op.k, "ids"), op.values = row_of(4 * op.k, "values");
    float* x = op.x.as<float>();
    std::fill_n(x, 4 * op.x_stride, kInfinity);  // also between the rows, which no kernel may read
    for (int64_t i = 0; i < width; ++i) {
      x[i] = static_cast<float>(random() % 1000000) - 500000.0f;                             // few equal values
      x[op.x_stride + i] = static_cast<float>(i);                                            // the largest at the end
      x[2 * op.x_stride + i] = random() % 3 == 0 ? kNaN : random() % 2 == 0 ? -0.0f : 0.0f;  // only equal values
      x[3 * op.x_stride + i] = i % 4000 == 63 ? 1.0f : i % 64 == 7 ? -kInfinity : kNaN;      // fewer than k
    }
    run({"top_k", op});
    for (int64_t s = 0; s < 4; ++s) {
      const float* row = x + s * op.x_stride;
      const std::vector<int32_t> order = falling(row, width);
      for (int64_t r = 0; r < op.k; ++r) {
        const int32_t expected = order[static_cast<size_t>(r)];
        ASSERT_EQ(op.ids.as<int32_t>()[s * op.k + r], expected) << "width " << width << " row " << s << " place " << r;
        ASSERT_EQ(op.values.as<float>()[s * op.k + r], std::isnan(row[expected]) ? -kInfinity : row[expected]);
      }
    }
  }
}

// Products of f16 values are exact in f32. So fused and unfused sums are the same, and only the order of the
// sums matters.
TEST_P(Rows, of_norms_and_rope_on_f16_values_have_the_bits_of_the_host_whether_or_not_fma_is_fused) {
  Bench host;
  host.device = make_host_device(HostArithmetic::contract, 1);
  std::mt19937 random(9);
  const auto fill = [&](const Operand& at, int64_t count) {
    const auto values = random_floats(random, count, 3.0f, true);
    std::copy(values.begin(), values.end(), at.as<float>());
  };
  for (int64_t width : {1, 15, 16, 17, 577, 4099}) {
    RmsNorm norm;
    norm.S = 3, norm.width = norm.x_stride = norm.y_stride = width;
    norm.x = row_of(3 * width, "x"), norm.y = row_of(3 * width, "y"), norm.weight = row_of(width, "weight");
    fill(norm.x, 3 * width), fill(norm.weight, width);
    run({"rms_norm", norm});
    const std::vector<float> actual(norm.y.as<float>(), norm.y.as<float>() + 3 * width);
    const Operator op{"rms_norm", norm};
    host.run({&op, 1});
    EXPECT_EQ(std::memcmp(actual.data(), norm.y.as<float>(), actual.size() * sizeof(float)), 0) << "width " << width;
  }
  for (RopeLayout layout : {RopeLayout::interleaved, RopeLayout::halves}) {
    Rope rope;
    rope.S = 2, rope.heads = 3, rope.head_dim = 20, rope.rot_dim = 18, rope.x_stride = 60, rope.layout = layout;
    rope.x = row_of(120, "x"), rope.positions = row_of(2, "positions"), rope.table = row_of(8 * 18, "table");
    rope.table_positions = 8;
    rope.positions.as<int32_t>()[0] = 7, rope.positions.as<int32_t>()[1] = 3;
    fill(rope.x, 120), fill(rope.table, 8 * 18);
    const std::vector<float> before(rope.x.as<float>(), rope.x.as<float>() + 120);
    run({"rope", rope});
    const std::vector<float> actual(rope.x.as<float>(), rope.x.as<float>() + 120);
    std::copy(before.begin(), before.end(), rope.x.as<float>());
    const Operator op{"rope", rope};
    host.run({&op, 1});
    EXPECT_EQ(std::memcmp(actual.data(), rope.x.as<float>(), actual.size() * sizeof(float)), 0);
  }
}

TEST_P(Rows, longer_than_proven_are_refused_with_a_reason_or_right) {
  ArgMax op;
  op.S = 1, op.width = op.x_stride = kWidth + 1, op.x = row_of(op.width, "x"), op.ids = row_of(1, "ids");
  std::fill_n(op.x.as<float>(), op.width, 0.0f);
  op.x.as<float>()[kWidth] = 1;
  if (run_or_refuse({"argmax", op})) {
    EXPECT_EQ(*op.ids.as<int32_t>(), kWidth);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Rows, ::testing::ValuesIn(gpu_targets()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tandem::testing
