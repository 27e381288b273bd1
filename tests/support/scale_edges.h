// Scales and minima of 4-bit codes near the limit up to which the fast kernels may offset codes. min - 2048 scale is
// exact if the magnitude of min is between half of scale's and 2048 times it. In f16 bits the range goes from 2^10
// below scale's to 11 * 2^10 above.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

namespace tandem::testing {

struct ScaleAndMin {
  uint16_t scale = 0, min = 0;  // f16
};

enum class Edge : uint8_t { inside, below, above, anywhere };

// Any signs, also subnormal numbers, and scales below 16. `below` and `above` return the first number outside. If there
// is none, they return a number inside.
inline ScaleAndMin scale_and_min(Edge edge, std::mt19937& random) {
  constexpr int kOne = 1 << 10, kLargestScale = 19 * kOne - 1, kLargest = 30 * kOne - 1;
  const auto number = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  const int scale = number(0, kLargestScale), least = std::max(0, scale - kOne),
            most = std::min(kLargest, scale + 11 * kOne);
  int min = edge == Edge::anywhere ? number(0, kLargest)
            : number(0, 2) == 0    ? (number(0, 1) == 0 ? least : most)
                                   : number(least, most);
  if (edge == Edge::below && least > 0) min = least - 1;
  if (edge == Edge::above && most < kLargest) min = most + 1;
  const auto with_sign = [&](int bits) { return static_cast<uint16_t>(bits | number(0, 1) << 15); };
  return {with_sign(scale), with_sign(min)};
}

}  // namespace tandem::testing
