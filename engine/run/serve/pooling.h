// Pooling: the states of a text's tokens become one vector.
//
// Contract: pure functions. Sums are double, in the order of the tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tandem/types.h"

namespace tandem {

// Takes the states of a text's tokens in turn, and ends with the vector.
class Pooled {
 public:
  Pooled(Pooling pooling, int64_t width) : pooling_(pooling), sum_(static_cast<size_t>(width)) {}
  void add(std::span<const float> states);  // [n, width], of the next n tokens
  std::vector<float> vector(bool normed) const;

 private:
  Pooling pooling_;
  int64_t tokens_ = 0;
  std::vector<double> sum_;  // of all tokens for the mean; else the state of the one token
};

}  // namespace tandem
