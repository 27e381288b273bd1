// What decides whether a device's multiply-adds are fused.
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
    volatile float product = cases[i] * cases[i + 1];  // rounded, as without a fused multiply-add
    out.push_back(fused ? std::fma(cases[i], cases[i + 1], cases[i + 2]) : product + cases[i + 2]);
  }
  return out;
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
