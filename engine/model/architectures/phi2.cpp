// Phi-1.5 and Phi-2 (Li et al. 2023, arXiv:2309.05463): attention and a GELU without a gate read one LayerNorm side by
// side. Every product has a bias, those of the logits too, and a part of each head is rotated. Older files have one
// tensor for q, k and v.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"attention.layer_norm_epsilon"};

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.layer_norm = config.parallel = true;
  config.gated = false;
  config.activation = Activation::gelu_tanh;
  config.qkv_bias = config.output_bias = config.ffn_bias = true;
  config.logits_bias = !config.tied_output;
}

}  // namespace

extern const Architecture phi2_architecture;
const Architecture phi2_architecture = {
    .name = "phi2", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = read_biases};

}  // namespace tandem
