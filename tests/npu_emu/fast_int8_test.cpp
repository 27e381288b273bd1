#include "npu_emu/fast_int8.h"

#include <gtest/gtest.h>

#include "sync/error.h"
#include "tests/npu_emu/random_product.h"

namespace tandem::npu_emu {
namespace {

TEST(FastInt8, sums_exactly_and_scales_each_column_at_the_drain) {
  std::mt19937 random(5);
  const ProductShape shape{3, 1000, 5};
  const std::vector<int8_t> x = random_bytes(3000, random), w = random_bytes(5000, random);
  const std::vector<float> scale = {1, 0.5f, -2, 0, 0.1f};
  std::vector<float> y(15);
  fast_int8(shape, x.data(), w.data(), scale.data(), y.data());
  for (size_t s = 0; s < 3; ++s) {
    for (size_t n = 0; n < 5; ++n) {
      int64_t sum = 0;
      for (size_t k = 0; k < 1000; ++k) sum += int64_t{x[s * 1000 + k]} * w[n * 1000 + k];
      EXPECT_EQ(static_cast<float>(sum) * scale[n], y[s * 5 + n]);
    }
  }
}

TEST(FastInt8, refuses_depths_that_could_overflow) {
  EXPECT_NO_THROW(check_int8_depth(131071));
  EXPECT_THROW(check_int8_depth(131072), Error);
  // The largest products at the deepest allowed sum still fit.
  EXPECT_LE(int64_t{131071} * 128 * 128, int64_t{INT32_MAX});
}

}  // namespace
}  // namespace tandem::npu_emu
