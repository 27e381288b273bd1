// Nemotron-4 and Minitron (Parmar et al. 2024, arXiv:2402.16819): LayerNorms with biases, a part of each head is
// rotated, and the feed-forward network is a squared ReLU without a gate. The converter has already added the 1 that
// the published norms add to their weights.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"attention.layer_norm_epsilon"};

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.layer_norm = true;
  config.gated = false;
  config.activation = Activation::squared_relu;
}

}  // namespace

extern const Architecture nemotron_architecture;
const Architecture nemotron_architecture = {
    .name = "nemotron", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = read_biases};

}  // namespace tandem
