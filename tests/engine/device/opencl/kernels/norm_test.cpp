// RmsNorm and Softmax against double loops.
#include "engine/tensor/types.h"
#include "tests/engine/device/opencl/kernels/kernel_test.h"

namespace tandem::opencl::test {
namespace {

class RmsNormKernel : public KernelTest {
 protected:
  struct Result {
    std::vector<float> x, y;
  };
  // x and y have strides larger than their rows. The gaps between rows must not change.
  Result run(const std::vector<float>& x, const std::vector<float>& add, const std::vector<float>& weight, RmsNorm op) {
    op.x = memory_.put(x);
    op.y = memory_.put(std::vector<float>(static_cast<size_t>(op.S * op.y_stride), 77.0f));
    if (!add.empty()) op.add = memory_.put(add);
    op.weight = memory_.put(weight);
    runner_->run(lower_rms_norm(op, context_));
    return {values_at<float>(op.x, x.size()), values_at<float>(op.y, static_cast<size_t>(op.S * op.y_stride))};
  }
};

TEST_P(RmsNormKernel, equals_the_formula_for_odd_widths_groups_and_strides) {
  for (int64_t width : {1, 7, 16, 65, 576, 1000}) {
    for (bool with_add : {false, true}) {
      RmsNorm op;
      op.S = 3, op.groups = 2, op.width = width;
      op.x_stride = 2 * width + 3, op.y_stride = 2 * width + 5, op.add_stride = 2 * width + 1;
      op.weight_offset = with_add ? 1.0f : 0.0f;
      const auto x = random(static_cast<size_t>(op.S * op.x_stride), 3), weight = random(static_cast<size_t>(width));
      const auto add = with_add ? random(static_cast<size_t>(op.S * op.add_stride)) : std::vector<float>();
      const Result got = run(x, add, weight, op);
      auto want_x = x;
      std::vector<float> want_y(got.y.size(), 77.0f);
      for (int64_t s = 0; s < op.S; ++s) {
        for (int64_t g = 0; g < op.groups; ++g) {
          double squares = 0;
          for (int64_t i = g * width; i < (g + 1) * width; ++i) {
            float& v = want_x[static_cast<size_t>(s * op.x_stride + i)];
            if (with_add) v += add[static_cast<size_t>(s * op.add_stride + i)];
            squares += static_cast<double>(v) * v;
          }
          const double divisor = std::sqrt(squares / static_cast<double>(width) + op.eps);
          for (int64_t i = 0; i < width; ++i) {
            const double v = want_x[static_cast<size_t>(s * op.x_stride + g * width + i)];
            want_y[static_cast<size_t>(s * op.y_stride + g * width + i)] = static_cast<float>(
                v / divisor * (static_cast<double>(weight[static_cast<size_t>(i)]) + op.weight_offset));
          }
        }
      }
      EXPECT_TRUE(same_bits(got.x, want_x)) << "width " << width;  // the residual addition is one rounding
      // The sum has `width` fma roundings of positive terms, and the root halves their error. Five more follow. The
      // result is well below (width / 32 + 8) epsilons.
      const float tolerance = (static_cast<float>(width) / 32 + 8) * 1.2e-7f * 8;
      EXPECT_THAT(got.y, ::testing::Pointwise(::testing::FloatNear(tolerance), want_y)) << "width " << width;
    }
  }
}

TEST_P(RmsNormKernel, gives_a_token_the_same_bits_alone_and_in_a_batch) {
  RmsNorm op;
  op.S = 5, op.width = 100, op.x_stride = 100, op.y_stride = 100, op.add_stride = 100;
  const auto x = random(500), add = random(500), weight = random(100);
  const Result all = run(x, add, weight, op);
  for (size_t s = 0; s < 5; ++s) {
    op.S = 1;
    const auto row = [s](const std::vector<float>& of) {
      return std::vector<float>(of.begin() + static_cast<long>(s) * 100, of.begin() + static_cast<long>(s) * 100 + 100);
    };
    const Result one = run(row(x), row(add), weight, op);
    EXPECT_TRUE(same_bits(one.y, row(all.y))) << s;
  }
}

TEST_P(RmsNormKernel, rounds_the_result_to_half_and_leaves_the_residual_stream_alone) {
  RmsNorm op;
  op.S = 2, op.width = 50, op.x_stride = 50, op.y_stride = 50, op.add_stride = 50;
  const auto x = random(100), add = random(100), weight = random(50);
  const Result exact = run(x, add, weight, op);
  op.round_f16 = true;
  const Result rounded = run(x, add, weight, op);
  EXPECT_TRUE(same_bits(exact.x, rounded.x));
  for (size_t i = 0; i < exact.y.size(); ++i) EXPECT_EQ(rounded.y[i], half_to_float(float_to_half(exact.y[i]))) << i;
}

TEST_P(RmsNormKernel, works_in_place) {
  RmsNorm op;
  op.S = 2, op.width = 37, op.x_stride = 40, op.y_stride = 40, op.add_stride = 37;
  const auto x = random(80), weight = random(37);
  const Result apart = run(x, random(74), weight, op);
  op.x = op.y = memory_.put(apart.x);
  op.weight = memory_.put(weight);
  runner_->run(lower_rms_norm(op, context_));
  const auto in_place = values_at<float>(op.x, 80);
  for (size_t s = 0; s < 2; ++s) {
    for (size_t i = s * 40; i < s * 40 + 37; ++i) EXPECT_EQ(in_place[i], apart.y[i]);
    for (size_t i = s * 40 + 37; i < s * 40 + 40; ++i) EXPECT_EQ(in_place[i], x[i]);
  }
}
TANDEM_BOTH_FAMILIES(RmsNormKernel);

using SoftmaxKernel = KernelTest;

TEST_P(SoftmaxKernel, equals_the_formula_and_takes_minus_infinity_as_zero) {
  for (int64_t width : {1, 5, 16, 33, 700}) {
    Softmax op;
    op.S = 3, op.width = width, op.x_stride = width + 2;
    auto x = random(static_cast<size_t>(op.S * op.x_stride), 20);
    if (width > 3) x[2] = -INFINITY;
    op.x = memory_.put(x);
    runner_->run(lower_softmax(op, context_));
    const auto got = values_at<float>(op.x, x.size());
    for (int64_t s = 0; s < op.S; ++s) {
      const float* row = &x[static_cast<size_t>(s * op.x_stride)];
      double sum = 0, top = -INFINITY;
      for (int64_t i = 0; i < width; ++i) top = std::max<double>(top, row[i]);
      for (int64_t i = 0; i < width; ++i) sum += std::exp(row[i] - top);
      for (int64_t i = 0; i < op.x_stride; ++i) {
        const float value = got[static_cast<size_t>(s * op.x_stride + i)];
        if (i >= width) {
          EXPECT_EQ(value, row[i]) << "between the rows";
        } else {
          const double want = std::exp(row[i] - top) / sum;
          // Rounding the difference row - top is off by |40| * 2^-24, relative. The rest is a few epsilons.
          EXPECT_NEAR(value, want, want * 5e-6 + 1e-37) << "width " << width << " at " << i;
        }
      }
    }
  }
}
TANDEM_BOTH_FAMILIES(SoftmaxKernel);

}  // namespace
}  // namespace tandem::opencl::test
