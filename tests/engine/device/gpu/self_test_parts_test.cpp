// Parts of a GPU's self-test: fused multiply-adds, exact quotients and roots, exact products of bytes.
#include "engine/device/gpu/self_test_parts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tandem::gpu {
namespace {

std::vector<float> results(bool fused) {
  const std::vector<float> cases = fma_cases();
  std::vector<float> out;
  for (size_t i = 0; i + 2 < cases.size(); i += 3) {
    volatile float product = cases[i] * cases[i + 1];  // rounded, like a multiply-add that is not fused
    out.push_back(fused ? std::fma(cases[i], cases[i + 1], cases[i + 2]) : product + cases[i + 2]);
  }
  return out;
}

// Sums of four products of bytes. A device that treats the first factors as unsigned computes other sums.
std::vector<int32_t> sums_of_bytes(bool first_signed) {
  const std::vector<uint32_t> words = packed_dot_cases();
  std::vector<int32_t> sums(words.size() / 2);
  for (size_t i = 0; i < words.size(); ++i) {
    if (i % 2 == 1) continue;
    for (int byte = 0; byte < 32; byte += 8) {
      const auto first = static_cast<uint8_t>(words[i] >> byte & 255U);
      const int value = first_signed ? static_cast<int8_t>(first) : first;
      sums[i / 2] += value * static_cast<int8_t>(words[i + 1] >> byte & 255U);
    }
  }
  return sums;
}

TEST(PackedDot, is_proven_by_exact_sums_of_signed_bytes) {
  EXPECT_TRUE(dot_is_exact(packed_dot_cases(), sums_of_bytes(true)));
  EXPECT_FALSE(dot_is_exact(packed_dot_cases(), sums_of_bytes(false)));
  std::vector<int32_t> saturated = sums_of_bytes(true);
  EXPECT_EQ(saturated[0], 4 * 128 * 128) << "the largest there is";
  saturated[0] = INT16_MAX;
  EXPECT_FALSE(dot_is_exact(packed_dot_cases(), saturated));
}

TEST(ExactQuotients, are_proven_by_quotients_and_roots_that_were_rounded_once_and_not_by_a_single_wrong_one) {
  const std::vector<float> cases = quotient_cases();
  std::vector<float> out(cases.size());
  for (size_t i = 0; i < cases.size(); i += 2) out[i] = cases[i] / cases[i + 1], out[i + 1] = std::sqrt(cases[i]);
  EXPECT_TRUE(divided_exactly(cases, out));
  for (const size_t wrong : {size_t{0}, out.size() - 1}) {  // a wrong quotient, then a wrong root
    std::vector<float> one = out;
    one[wrong] = std::nextafter(one[wrong], 0.0f);
    EXPECT_FALSE(divided_exactly(cases, one)) << wrong;
  }
}

// A fast driver multiplies by the inverse.
TEST(ExactQuotients, are_not_proven_by_products_with_inverses) {
  const std::vector<float> cases = quotient_cases();
  std::vector<float> out(cases.size());
  for (size_t i = 0; i < cases.size(); i += 2)
    out[i] = cases[i] * (1.0f / cases[i + 1]), out[i + 1] = std::sqrt(cases[i]);
  EXPECT_FALSE(divided_exactly(cases, out));
}

TEST(FusedFma, is_proven_by_results_that_were_rounded_once) { EXPECT_TRUE(rounded_once(fma_cases(), results(true))); }

TEST(FusedFma, is_not_proven_by_results_that_were_rounded_twice_or_by_a_single_wrong_one) {
  EXPECT_FALSE(rounded_once(fma_cases(), results(false)));
  std::vector<float> one = results(true);
  one.back() = std::nextafter(one.back(), 1.0f);
  EXPECT_FALSE(rounded_once(fma_cases(), one));
}

}  // namespace
}  // namespace tandem::gpu
