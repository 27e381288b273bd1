// Sums states in double precision, because a long text adds thousands of them.
#include "engine/run/serve/pooling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tandem {

// Each rule is a sum: of all states, of the first alone, or of the last alone.
void Pooled::add(std::span<const float> states) {
  const size_t width = sum_.size();
  for (size_t row = 0; row < states.size(); row += width, ++tokens_) {
    if (pooling_ == Pooling::cls && tokens_ > 0) continue;
    if (pooling_ == Pooling::last) std::ranges::fill(sum_, 0.0);
    for (size_t i = 0; i < width; ++i) sum_[i] += states[row + i];
  }
}

// A vector of zeros has no direction and stays as it is.
std::vector<float> Pooled::vector(bool normed) const {
  double scale = pooling_ == Pooling::mean && tokens_ > 0 ? 1.0 / static_cast<double>(tokens_) : 1.0;
  if (normed) {
    const double square = std::inner_product(sum_.begin(), sum_.end(), sum_.begin(), 0.0);
    if (square > 0) scale = 1 / std::sqrt(square);
  }
  std::vector<float> vector;
  for (const double value : sum_) vector.push_back(static_cast<float>(value * scale));
  return vector;
}

}  // namespace tandem
