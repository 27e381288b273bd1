// What an operator asks of the device that runs it. A device lists the features that it computes and refuses every
// other: a field that a device has never heard of is then a refusal, and not a wrong result.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
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
  // Mixtures of experts.
  routing,
  grouped_products,
  weighted_sum,
  copy,
  capacities,
  // Variants of these.
  sigmoid_routing,
  sparse_mixer,
  shared_expert,
  gated_shared_expert,
  unrounded_weights,
};
inline constexpr Feature kLastFeature = Feature::unrounded_weights;

const char* name_of(Feature feature);  // "attention to a window of the positions"

// A set of them.
class Features {
 public:
  constexpr Features() = default;
  constexpr Features(std::initializer_list<Feature> features) {
    for (const Feature feature : features) add(feature);
  }
  constexpr void add(Feature feature) { bits_ |= bit(feature); }
  constexpr bool has(Feature feature) const { return (bits_ & bit(feature)) != 0; }
  std::optional<Feature> first_outside(Features others) const;  // nothing: all of them are among the others
  std::vector<Feature> list() const;                            // in the order of the enumeration
  constexpr bool operator==(const Features&) const = default;

 private:
  static constexpr uint64_t bit(Feature feature) { return uint64_t{1} << static_cast<int>(feature); }
  uint64_t bits_ = 0;
};

}  // namespace tandem
