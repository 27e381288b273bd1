// ArgMax and TopK against a stable sort: the lowest index of equal values is first.
#include <algorithm>
#include <numeric>

#include "tests/engine/device/opencl/kernels/kernel_test.h"

namespace tandem::opencl::test {
namespace {

class SelectionKernel : public KernelTest {
 protected:
  // Few distinct values, so that equal values are common within and across lanes.
  std::vector<float> with_equals(size_t count) {
    auto x = random(count, 40);
    for (float& v : x) v = std::round(v) / 4;
    return x;
  }
  static std::vector<int32_t> sorted(const float* row, int64_t width) {
    std::vector<int32_t> order(static_cast<size_t>(width));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return row[a] > row[b]; });
    return order;
  }
};

TEST_P(SelectionKernel, argmax_gives_the_first_of_the_largest) {
  for (int64_t width : {1, 3, 16, 63, 64, 65, 1000, 4999}) {
    for (bool equals : {false, true}) {
      ArgMax op;
      op.S = 4, op.width = width, op.x_stride = width + 1;
      auto x =
          equals ? with_equals(static_cast<size_t>(4 * op.x_stride)) : random(static_cast<size_t>(4 * op.x_stride));
      std::fill_n(x.begin(), width, equals ? 1.5f : -INFINITY);  // row 0: all the same
      if (!equals && width > 40)
        x[static_cast<size_t>(op.x_stride) + 33] = 2.0f, x[static_cast<size_t>(op.x_stride) + 17] = 2.0f;
      op.x = memory_.put(x);
      op.ids = memory_.room(16);
      runner_->run(lower_argmax(op, context_));
      for (int64_t s = 0; s < 4; ++s) {
        EXPECT_EQ(op.ids.as<int32_t>()[s], sorted(&x[static_cast<size_t>(s * op.x_stride)], width)[0])
            << "width " << width << " row " << s;
      }
    }
  }
}

TEST_P(SelectionKernel, argmax_passes_over_nan) {
  std::vector<float> x(100, -3.0f);
  x[4] = NAN, x[20] = 5.0f, x[36] = NAN, x[99] = NAN;
  ArgMax op;
  op.S = 1, op.width = 100, op.x = memory_.put(x), op.x_stride = 100, op.ids = memory_.room(4);
  runner_->run(lower_argmax(op, context_));
  EXPECT_EQ(*op.ids.as<int32_t>(), 20);
}

TEST_P(SelectionKernel, top_k_is_the_head_of_a_stable_sort) {
  for (int64_t width : {1, 5, 64, 130, 1000, 4999}) {
    for (int64_t k : {1, 2, 40, 64}) {
      if (k > width) continue;
      for (bool equals : {false, true}) {
        TopK op;
        op.S = 2, op.width = width, op.k = k, op.x_stride = width + 1;
        const auto x =
            equals ? with_equals(static_cast<size_t>(2 * op.x_stride)) : random(static_cast<size_t>(2 * op.x_stride));
        op.x = memory_.put(x);
        op.ids = memory_.room(static_cast<size_t>(2 * k * 4));
        op.values = memory_.room(static_cast<size_t>(2 * k * 4));
        runner_->run(lower_top_k(op, context_));
        for (int64_t s = 0; s < 2; ++s) {
          const float* row = &x[static_cast<size_t>(s * op.x_stride)];
          const auto want = sorted(row, width);
          for (int64_t i = 0; i < k; ++i) {
            ASSERT_EQ(op.ids.as<int32_t>()[s * k + i], want[static_cast<size_t>(i)])
                << "width " << width << " k " << k << " at " << i;
            ASSERT_EQ(op.values.as<float>()[s * k + i], row[want[static_cast<size_t>(i)]]);
          }
        }
      }
    }
  }
}

TEST_P(SelectionKernel, top_k_finds_large_values_beside_nan) {
  std::vector<float> x(256, -1.0f);
  for (size_t i = 128; i < 192; i += 3) x[i] = NAN;
  x[145] = 9.0f, x[250] = 8.0f;
  TopK op;
  op.S = 1, op.width = 256, op.k = 2, op.x = memory_.put(x), op.x_stride = 256, op.ids = memory_.room(8),
  op.values = memory_.room(8);
  runner_->run(lower_top_k(op, context_));
  EXPECT_EQ(values_at<int32_t>(op.ids, 2), (std::vector<int32_t>{145, 250}));
}

TEST(TopKLowering, refuses_more_than_64_and_more_than_the_row_has) {
  TopK op;
  op.S = 1, op.width = 100, op.k = 65, op.x_stride = 100;
  EXPECT_ANY_THROW(lower_top_k(op, {}));
  op.width = 10, op.k = 11;
  EXPECT_ANY_THROW(lower_top_k(op, {}));
}
TANDEM_BOTH_FAMILIES(SelectionKernel);

}  // namespace
}  // namespace tandem::opencl::test
