// Features: the abilities that an operator needs from the device that runs it.
//
// A device lists the features that it computes and refuses all others. A field that is new to a device then leads to a
// refusal, not to a wrong result.
//
// Contract: a feature is a row of one table, with its name and the devices that compute it. The host and the GPUs
// take their lists from this table; other devices have their own lists. A new row says `nobody` until code computes it:
// then `host`, and `host_and_gpu` once the kernels of both interfaces and both families do.
#pragma once

#include <cstddef>
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
  // Variants of the features above, each a field of an operator.
  residual,
  scaled_residual,
  centred_norm,
  norm_bias,
  scaled_embedding,
  window,
  chunks,
  gelu,
  squared_relu,
  ungated,
  clamped_unit,
  soft_cap,
  capped_attention,
  // Mixtures of experts.
  routing,
  grouped_products,
  weighted_sum,
  copy,
  capacities,
  moving_experts,
  copied_experts,
  // Variants of mixtures of experts.
  sigmoid_routing,
  biased_routing,
  grouped_routing,
  sparse_mixer,
  shared_expert,
  gated_shared_expert,
  expert_bias,
  expert_factor,
  unrounded_weights,
  // Variants of products.
  integer_activations,
  product_columns,
  // Variants of attention and the cache.
  trees,
  attention_sinks,
  distance_bias,
  group_weights,
};
inline constexpr Feature kLastFeature = Feature::group_weights;

enum class ComputedBy : uint8_t {
  nobody,        // no device yet
  host,          // its loops and the reference
  host_and_gpu,  // the host, and the kernels of kernels/ and of shaders/ in both families
};

struct FeatureRow {
  Feature feature;
  ComputedBy by;
  const char* name;  // "attention to a window of the positions"
};

inline constexpr FeatureRow kFeatureRows[] = {
    {Feature::products, ComputedBy::host_and_gpu, "matrix products"},
    {Feature::gather, ComputedBy::host_and_gpu, "gather (addresses that depend on data)"},
    {Feature::scatter, ComputedBy::host_and_gpu, "scatter (addresses that depend on data)"},
    {Feature::norm, ComputedBy::host_and_gpu, "norm (sums over a row, and a root)"},
    {Feature::rotation, ComputedBy::host_and_gpu, "rotation by position (a table that data looks up)"},
    {Feature::attention, ComputedBy::host_and_gpu, "attention (a dynamic shape: every token sees more positions)"},
    {Feature::activation, ComputedBy::host_and_gpu, "activation (an exponential)"},
    {Feature::element_wise, ComputedBy::host_and_gpu, "element-wise sums and products"},
    {Feature::softmax, ComputedBy::host_and_gpu, "softmax (an exponential and a maximum)"},
    {Feature::comparison, ComputedBy::host_and_gpu, "comparison"},
    {Feature::selection, ComputedBy::host_and_gpu, "top-k (comparisons that decide later addresses)"},
    {Feature::residual, ComputedBy::host_and_gpu, "a norm that adds to the residual stream"},
    {Feature::scaled_residual, ComputedBy::host_and_gpu, "a scaled addition to the residual stream"},
    {Feature::centred_norm, ComputedBy::host_and_gpu, "a norm around the mean (LayerNorm)"},
    {Feature::norm_bias, ComputedBy::host_and_gpu, "a norm with a bias"},
    {Feature::scaled_embedding, ComputedBy::host_and_gpu, "scaled embeddings"},
    {Feature::window, ComputedBy::host_and_gpu, "attention to a window of the positions"},
    {Feature::chunks, ComputedBy::host_and_gpu, "attention to a chunk of the positions"},
    {Feature::gelu, ComputedBy::host_and_gpu, "GELU"},
    {Feature::squared_relu, ComputedBy::host_and_gpu, "the square of ReLU"},
    {Feature::ungated, ComputedBy::host_and_gpu, "an activation without a gate"},
    {Feature::clamped_unit, ComputedBy::host_and_gpu, "a clamped gated unit"},
    {Feature::soft_cap, ComputedBy::host_and_gpu, "a soft cap"},
    {Feature::capped_attention, ComputedBy::host_and_gpu, "attention with a soft cap of its scores"},
    {Feature::routing, ComputedBy::host_and_gpu, "routing (comparisons that decide which experts run)"},
    {Feature::grouped_products, ComputedBy::host_and_gpu,
     "grouped matrix products (data decides which weights are read)"},
    {Feature::weighted_sum, ComputedBy::host_and_gpu, "a weighted sum of experts"},
    {Feature::copy, ComputedBy::host_and_gpu, "copies"},
    {Feature::capacities, ComputedBy::host, "capacities of experts (data decides which rows are filled)"},
    {Feature::moving_experts, ComputedBy::host, "experts that move (they are read while a pass runs)"},
    {Feature::copied_experts, ComputedBy::host, "copies of experts (a table says which)"},
    {Feature::sigmoid_routing, ComputedBy::host_and_gpu, "routing by sigmoids"},
    {Feature::biased_routing, ComputedBy::host_and_gpu, "routing with a bias that only chooses"},
    {Feature::grouped_routing, ComputedBy::host_and_gpu, "routing among groups of experts"},
    {Feature::sparse_mixer, ComputedBy::host_and_gpu, "routing by a sparse mixer"},
    {Feature::shared_expert, ComputedBy::host_and_gpu, "a shared expert"},
    {Feature::gated_shared_expert, ComputedBy::host_and_gpu, "a shared expert behind a gate"},
    {Feature::expert_bias, ComputedBy::host_and_gpu, "biases of experts (data decides which are added)"},
    {Feature::expert_factor, ComputedBy::host_and_gpu, "factors of experts (data decides which are multiplied)"},
    {Feature::unrounded_weights, ComputedBy::host_and_gpu, "a router's weights, which are not to be rounded to f16"},
    {Feature::integer_activations, ComputedBy::host_and_gpu, "products with 8-bit activations (--act i8)"},
    {Feature::product_columns, ComputedBy::host, "products with some columns of each matrix (partial sums)"},
    {Feature::trees, ComputedBy::host_and_gpu, "trees of drafts (data decides which places a token sees)"},
    {Feature::attention_sinks, ComputedBy::host_and_gpu, "attention with sinks"},
    {Feature::distance_bias, ComputedBy::host_and_gpu, "attention with a bias by distance (ALiBi)"},
    {Feature::group_weights, ComputedBy::host_and_gpu, "a norm with weights of each group"},
};

constexpr bool rows_are_in_order() {
  size_t count = 0;
  for (const FeatureRow& row : kFeatureRows)
    if (row.feature != static_cast<Feature>(count++)) return false;
  return count == static_cast<size_t>(kLastFeature) + 1;
}
static_assert(rows_are_in_order(), "every feature has a row, in the order of the enumeration");

constexpr const char* name_of(Feature feature) { return kFeatureRows[static_cast<size_t>(feature)].name; }

// A set of features.
class Features {
 public:
  constexpr Features() = default;
  constexpr Features(std::initializer_list<Feature> features) {
    for (const Feature feature : features) add(feature);
  }
  constexpr void add(Feature feature) { bits_ |= bit(feature); }
  constexpr void add(Features others) { bits_ |= others.bits_; }
  constexpr bool has(Feature feature) const { return (bits_ & bit(feature)) != 0; }
  std::optional<Feature> first_outside(Features others) const;  // nothing: the others contain all
  std::vector<Feature> list() const;                            // in the order of the enumeration
  constexpr bool operator==(const Features&) const = default;

 private:
  static constexpr uint64_t bit(Feature feature) { return uint64_t{1} << static_cast<int>(feature); }
  uint64_t bits_ = 0;
};

// The features that `by` computes.
constexpr Features features_of(ComputedBy by) {
  Features all;
  for (const FeatureRow& row : kFeatureRows)
    if (row.by >= by) all.add(row.feature);
  return all;
}

}  // namespace tandem
