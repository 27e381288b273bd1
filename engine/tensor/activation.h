// Choices about activations: the function on the gate of a gated feed-forward network, and the type of matmul inputs.
#pragma once

#include <cstdint>

#include "tandem/types.h"

namespace tandem {

enum class Activation : uint8_t {
  silu,       // x / (1 + exp(-x))
  gelu_tanh,  // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
};

}  // namespace tandem
