#include "engine/moe/overflow.h"

#include <algorithm>
#include <cmath>

namespace tandem {

std::vector<double> saliency(const float* x, int64_t S, int64_t width, int64_t stride) {
  std::vector<double> norms;
  for (int64_t s = 0; s < S; ++s) {
    double squares = 0;
    for (int64_t i = 0; i < width; ++i) {
      const auto value = static_cast<double>(x[s * stride + i]);
      squares += value * value;
    }
    norms.push_back(std::sqrt(squares));
  }
  return norms;
}

std::vector<int64_t> dropped_tokens(std::span<const int64_t> tokens, std::span<const double> saliency,
                                    int64_t capacity) {
  if (static_cast<int64_t>(tokens.size()) <= capacity) return {};
  std::vector<int64_t> kept_first(tokens.begin(), tokens.end());
  std::ranges::sort(kept_first, [&](int64_t a, int64_t b) {
    const double left = saliency[static_cast<size_t>(a)], right = saliency[static_cast<size_t>(b)];
    return left > right || (left == right && a < b);
  });
  std::vector<int64_t> dropped(kept_first.begin() + std::max<int64_t>(0, capacity), kept_first.end());
  std::ranges::sort(dropped);
  return dropped;
}

}  // namespace tandem
