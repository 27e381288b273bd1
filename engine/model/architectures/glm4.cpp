// GLM-4-0414: a part of each head is rotated, one tensor holds gate and up, and a block's result is normed before it is
// added to the residual stream.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

void describe(ModelConfig& config) {
  config.rope.halves = false;
  config.post_norms = true;
}

LayerSpec layer(const ModelConfig& config, int64_t index) {
  LayerSpec layer = dense_layer(config, index);
  layer.gate_up.weights = {{"blk." + std::to_string(index) + ".ffn_up.weight", 2 * config.feed_forward, config.hidden}};
  return layer;
}

}  // namespace

extern const Architecture glm4_architecture;
const Architecture glm4_architecture = {
    .name = "glm4", .keys = {}, .describe = describe, .layer = layer, .read = read_attention_biases};

}  // namespace tandem
