// Glu, Add, Bias, and the exp of common.cl that Glu shares with softmax and attention.
#include "engine/tensor/types.h"
#include "tests/engine/device/opencl/kernels/kernel_test.h"
#include "tests/support/requirements.h"

namespace tandem::opencl::test {
namespace {

int64_t ulps_between(float a, float b) {
  int32_t x, y;
  std::memcpy(&x, &a, 4);
  std::memcpy(&y, &b, 4);
  return std::abs(static_cast<int64_t>(x) - y);
}

TEST(Exponential, is_within_two_units_and_the_same_as_vector_and_scalar) {
  BareRunner* runner = BareRunner::instance();
  if (!runner) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
  Memory memory;
  std::vector<float> x = {0.0f,  -0.0f, 1.0f,    -INFINITY, INFINITY, -1e30f, 1e30f,
                          88.7f, 88.8f, -87.32f, -87.34f,   -104.0f,  1e-30f, -1e-8f};
  for (float v = -87.3f; v < 88.7f; v += 0.00137f) x.push_back(v);
  while (x.size() % 16) x.push_back(0.5f);
  const Operand in = memory.put(x), vector = memory.room(x.size() * 4), scalar = memory.room(x.size() * 4);
  KernelLaunch launch;
  launch.kernel = "both";
  launch.args = {BufferArg{in}, BufferArg{vector, true}, BufferArg{scalar, true}};
  launch.global = {x.size() / 16, 1, 1};
  runner->run_source(
      "__kernel void both(BUFFER(x), BUFFER(a), BUFFER(b)) {\n"
      "  const int g = get_global_id(0);\n"
      "  vstore16(exp16(vload16(g, PTR(float, x))), g, PTR(float, a));\n"
      "  for (int i = g * 16; i < g * 16 + 16; ++i) PTR(float, b)[i] = exp1(PTR(float, x)[i]);\n"
      "}\n",
      launch);
  const auto a = values_at<float>(vector, x.size()), b = values_at<float>(scalar, x.size());
  EXPECT_TRUE(same_bits(a, b));
  EXPECT_EQ(a[0], 1.0f);
  EXPECT_EQ(a[1], 1.0f);
  int64_t worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] < -87.33f) {
      EXPECT_EQ(a[i], 0.0f) << x[i];
    } else if (x[i] > 88.7228f) {
      EXPECT_EQ(a[i], INFINITY) << x[i];
    } else {
      worst = std::max(worst, ulps_between(a[i], static_cast<float>(std::exp(static_cast<double>(x[i])))));
    }
  }
  EXPECT_LE(worst, 2);
  RecordProperty("worst_ulps", static_cast<int>(worst));
}

using SwiGluKernel = KernelTest;

TEST_P(SwiGluKernel, equals_the_formula_for_odd_widths_and_extreme_gates) {
  for (int compute_units : {1, 4}) {
    context_.compute_units = compute_units;
    for (int64_t I : {1, 19, 64, 1537}) {
      for (bool round : {false, true}) {
        Glu op;
        op.S = 3, op.I = I, op.gate_stride = I + 1, op.up_stride = I + 2, op.y_stride = I + 3, op.round_f16 = round;
        auto gate = random(static_cast<size_t>(3 * op.gate_stride), 12);
        const auto up = random(static_cast<size_t>(3 * op.up_stride), 2);
        if (I > 10) gate[3] = -200.0f, gate[4] = 200.0f, gate[5] = 0.0f;
        op.gate = memory_.put(gate);
        op.up = memory_.put(up);
        op.y = memory_.put(std::vector<float>(static_cast<size_t>(3 * op.y_stride), 77.0f));
        runner_->run(lower_glu(op, context_));
        const auto got = values_at<float>(op.y, static_cast<size_t>(3 * op.y_stride));
        for (int64_t s = 0; s < 3; ++s) {
          for (int64_t i = 0; i < op.y_stride; ++i) {
            const float value = got[static_cast<size_t>(s * op.y_stride + i)];
            if (i >= I) {
              EXPECT_EQ(value, 77.0f);
              continue;
            }
            const double g = gate[static_cast<size_t>(s * op.gate_stride + i)];
            const double want = g / (1 + std::exp(-g)) * up[static_cast<size_t>(s * op.up_stride + i)];
            EXPECT_NEAR(value, want, std::abs(want) * (round ? 5e-4 : 8e-7) + (round ? 4e-8 : 1e-36))
                << "I " << I << " gate " << g;
            if (round) {
              EXPECT_EQ(value, half_to_float(float_to_half(value)));
            }
          }
        }
      }
    }
  }
}
TANDEM_BOTH_FAMILIES(SwiGluKernel);

using AddKernel = KernelTest;

TEST_P(AddKernel, adds_in_place_and_touches_nothing_between_rows) {
  for (int compute_units : {1, 4}) {
    context_.compute_units = compute_units;
    for (int64_t width : {1, 15, 64, 1031}) {
      Add op;
      op.S = 3, op.width = width, op.x_stride = width + 3, op.y_stride = width + 1;
      const auto x = random(static_cast<size_t>(3 * op.x_stride)), y = random(static_cast<size_t>(3 * op.y_stride));
      op.x = memory_.put(x);
      op.y = memory_.put(y);
      runner_->run(lower_add(op, context_));
      auto want = x;
      for (int64_t s = 0; s < 3; ++s) {
        for (int64_t i = 0; i < width; ++i)
          want[static_cast<size_t>(s * op.x_stride + i)] += y[static_cast<size_t>(s * op.y_stride + i)];
      }
      EXPECT_TRUE(same_bits(values_at<float>(op.x, x.size()), want)) << width;
    }
  }
}
TANDEM_BOTH_FAMILIES(AddKernel);

using BiasKernel = KernelTest;

TEST_P(BiasKernel, adds_one_vector_to_every_row) {
  for (int64_t width : {1, 15, 64, 1031}) {
    Bias op;
    op.S = 3, op.width = width, op.x_stride = width + 3;
    const auto x = random(static_cast<size_t>(3 * op.x_stride)), bias = random(static_cast<size_t>(width));
    op.x = memory_.put(x);
    op.bias = memory_.put(bias);
    runner_->run(lower_bias(op, context_));
    auto want = x;
    for (int64_t s = 0; s < 3; ++s) {
      for (int64_t i = 0; i < width; ++i)
        want[static_cast<size_t>(s * op.x_stride + i)] += bias[static_cast<size_t>(i)];
    }
    EXPECT_TRUE(same_bits(values_at<float>(op.x, x.size()), want)) << width;
  }
}
TANDEM_BOTH_FAMILIES(BiasKernel);

}  // namespace
}  // namespace tandem::opencl::test
