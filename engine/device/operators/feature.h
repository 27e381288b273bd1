// What an operator asks of the device that runs it. A device lists the features that it computes and refuses every
// other: a field that a device has never heard of is then a refusal, and not a wrong result.
#pragma once

#include <cstdint>
#include <vector>

namespace tandem {

enum class Feature : uint8_t {
  products,
  gather,
  scatter,
  norm,
  rotation,
  attention,
  activation,
  element_wise,
  softmax,
  comparison,
  selection,
  // Variants of these.
  residual,
  scaled_residual,
  centred_norm,
  norm_bias,
  scaled_embedding,
  window,
  gelu,
  soft_cap,
};
inline constexpr Feature kLastFeature = Feature::soft_cap;
using Features = std::vector<Feature>;

const char* name_of(Feature feature);  // "attention to a window of the positions"

}  // namespace tandem
