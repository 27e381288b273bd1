// Seed-OSS: biases on q, k and v, heads of their own width. In files the norm before the feed-forward network has the
// name post_attention_norm.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

void describe(ModelConfig& config) { config.rope.halves = true; }

LayerSpec layer(const ModelConfig& config, int64_t index) {
  LayerSpec layer = dense_layer(config, index);
  layer.ffn_norm = {"blk." + std::to_string(index) + ".post_attention_norm.weight", config.hidden};
  return layer;
}

}  // namespace

extern const Architecture seed_oss_architecture;
const Architecture seed_oss_architecture = {
    .name = "seed_oss", .keys = {}, .describe = describe, .layer = layer, .read = read_attention_biases};

}  // namespace tandem
