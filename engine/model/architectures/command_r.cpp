// Command R and Aya 23 (Cohere 2024): attention and the feed-forward network read one LayerNorm without a bias side by
// side, and the logits are scaled. Command R+ norms every head of q and k with weights of
// its own.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"attention.layer_norm_epsilon", "logit_scale"};

void describe(ModelConfig& config) {
  config.rope.halves = false;
  config.layer_norm = config.parallel = true;
  config.norm_bias = false;
  config.qk_norm_each = config.qk_norm;
}

void read(const GgufFile& file, ModelConfig& config) {
  read_attention_biases(file, config);
  read_head_norms(file, config);
}

}  // namespace

extern const Architecture command_r_architecture;
const Architecture command_r_architecture = {.name = "command-r",
                                             .keys = kKeys,
                                             .describe = describe,
                                             .layer = dense_layer,
                                             .read = read,
                                             .multiplies_logits = true};

}  // namespace tandem
