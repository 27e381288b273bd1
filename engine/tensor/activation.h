// The function on the gate of a gated feed-forward network.
#pragma once

#include <cstdint>

namespace tandem {

enum class Activation : uint8_t {
  silu,       // x / (1 + exp(-x))
  gelu_tanh,  // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
};

}  // namespace tandem
