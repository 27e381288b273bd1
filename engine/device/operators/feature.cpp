#include "engine/device/operators/feature.h"

#include <bit>

#include "sync/error.h"

namespace tandem {

const char* name_of(Feature feature) {
  switch (feature) {
    case Feature::products:
      return "matrix products";
    case Feature::gather:
      return "gather (addresses that depend on data)";
    case Feature::scatter:
      return "scatter (addresses that depend on data)";
    case Feature::norm:
      return "norm (sums over a row, and a root)";
    case Feature::rotation:
      return "rotation by position (a table that data looks up)";
    case Feature::attention:
      return "attention (a dynamic shape: every token sees more positions)";
    case Feature::activation:
      return "activation (an exponential)";
    case Feature::element_wise:
      return "element-wise sums and products";
    case Feature::softmax:
      return "softmax (an exponential and a maximum)";
    case Feature::comparison:
      return "comparison";
    case Feature::selection:
      return "top-k (comparisons that decide later addresses)";
    case Feature::residual:
      return "a norm that adds to the residual stream";
    case Feature::scaled_residual:
      return "a scaled addition to the residual stream";
    case Feature::centred_norm:
      return "a norm around the mean (LayerNorm)";
    case Feature::norm_bias:
      return "a norm with a bias";
    case Feature::scaled_embedding:
      return "scaled embeddings";
    case Feature::window:
      return "attention to a window of the positions";
    case Feature::gelu:
      return "GELU";
    case Feature::soft_cap:
      return "a soft cap";
    case Feature::routing:
      return "routing (comparisons that decide which experts run)";
    case Feature::grouped_products:
      return "grouped matrix products (data decides which weights are read)";
    case Feature::weighted_sum:
      return "a weighted sum of experts";
    case Feature::copy:
      return "copies";
    case Feature::capacities:
      return "capacities of experts (data decides which rows are filled)";
    case Feature::sigmoid_routing:
      return "routing by sigmoids";
    case Feature::sparse_mixer:
      return "routing by a sparse mixer";
    case Feature::shared_expert:
      return "a shared expert";
    case Feature::gated_shared_expert:
      return "a shared expert behind a gate";
    case Feature::unrounded_weights:
      return "a router's weights, which are not to be rounded to f16";
  }
  TANDEM_CHECK(false, "a feature without a name");
}

std::optional<Feature> Features::first_outside(Features others) const {
  const uint64_t outside = bits_ & ~others.bits_;
  if (outside == 0) return std::nullopt;
  return static_cast<Feature>(std::countr_zero(outside));
}

std::vector<Feature> Features::list() const {
  std::vector<Feature> features;
  for (uint64_t left = bits_; left != 0; left &= left - 1)
    features.push_back(static_cast<Feature>(std::countr_zero(left)));
  return features;
}

}  // namespace tandem
