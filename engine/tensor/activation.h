// Choices about activations: the function in a feed-forward network, and the type of matmul inputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tandem/types.h"

namespace tandem {

enum class Activation : uint8_t {
  silu,          // x / (1 + exp(-x))
  gelu_tanh,     // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
  squared_relu,  // max(x, 0)^2 (So et al. 2021, arXiv:2109.08668)
  clamped_silu,  // x / (1 + exp(-1.702 x)), of inputs that are clamped first
};
inline constexpr Activation kLastActivation = Activation::clamped_silu;

struct ActivationRow {
  Activation activation;
  const char* name;
  const char* gated_unit;  // a gated linear unit with this function
};

inline constexpr ActivationRow kActivationRows[] = {
    {Activation::silu, "silu", "swiglu"},
    {Activation::gelu_tanh, "gelu_tanh", "geglu"},
    {Activation::squared_relu, "squared_relu", "squared_reglu"},
    {Activation::clamped_silu, "clamped_silu", "clamped_swiglu"},
};

constexpr bool activation_rows_are_in_order() {
  size_t count = 0;
  for (const ActivationRow& row : kActivationRows)
    if (row.activation != static_cast<Activation>(count++)) return false;
  return count == static_cast<size_t>(kLastActivation) + 1;
}
static_assert(activation_rows_are_in_order(), "every activation has a row, in the order of the enumeration");

constexpr const char* name_of(Activation activation) { return kActivationRows[static_cast<size_t>(activation)].name; }
constexpr const char* gated_unit_of(Activation activation) {
  return kActivationRows[static_cast<size_t>(activation)].gated_unit;
}

}  // namespace tandem
