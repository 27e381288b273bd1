// Phi-3.5-MoE and Phi-tiny-MoE. Norms are LayerNorms with biases. The projections of attention and the logits have
// biases too. A sparse mixer weighs the experts. Contexts beyond the original length have their own frequency factors.
#include "engine/model/architectures/dense.h"
#include "engine/model/rope_keys.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"expert_count", "attention.layer_norm_epsilon", "attention.sliding_window"};

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.layer_norm = true;
  config.qkv_bias = config.output_bias = true;
  config.logits_bias = !config.tied_output;
  config.experts->gating = Gating::sparse_mixer;
  if (config.window >= config.context_length) config.window = 0;  // the model with the longest context writes "none" so
}

void read(const GgufFile& file, ModelConfig& config) {
  config.qkv_bias = false;
  read_attention_biases(file, config);
  config.logits_bias = !config.tied_output && file.find("output.bias") != nullptr;
  read_long_rope_factors(file, config);
}

}  // namespace

extern const Architecture phimoe_architecture;
const Architecture phimoe_architecture = {
    .name = "phimoe", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = read, .has_experts = true};

}  // namespace tandem
