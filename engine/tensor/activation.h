// Choices about activations: the function on the gate of a gated feed-forward network, and the type of matmul inputs.
#pragma once

#include <cstdint>

namespace tandem {

enum class Activation : uint8_t {
  silu,       // x / (1 + exp(-x))
  gelu_tanh,  // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
};

// Activations at matmul inputs (--act). f16: their producer rounds them. i8: a matmul with integer weights quantises
// them (docs/numbers.md).
enum class ActType : uint8_t { f32, f16, i8 };
constexpr const char* to_string(ActType type) {
  return type == ActType::i8 ? "i8" : type == ActType::f16 ? "f16" : "f32";
}

}  // namespace tandem
