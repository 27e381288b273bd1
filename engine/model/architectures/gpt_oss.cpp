// gpt-oss: experts with biases and a clamped gated unit, whose weights are a softmax of their own. Every other layer
// attends to a window, and every head has a sink. YaRN's ramp is not rounded to whole pairs. Files have another name
// for the norm before the feed-forward network.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"expert_count", "attention.sliding_window"};
constexpr int64_t kWindow = 128;  // of both published sizes

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.rope.yarn_whole_pairs = false;
  config.qkv_bias = config.output_bias = config.attention_sinks = true;
  config.activation = Activation::clamped_silu;
  config.experts->normalised = config.experts->biases = config.experts->score_bias = true;
  if (config.window == 0) config.window = kWindow;
  // Layers with and without a window take turns, and the first layer has one.
  config.has_window = all_but_every(config.layers, 2);
}

LayerSpec layer(const ModelConfig& config, int64_t index) {
  LayerSpec layer = dense_layer(config, index);
  layer.ffn_norm.name = "blk." + std::to_string(index) + ".post_attention_norm.weight";
  return layer;
}

}  // namespace

extern const Architecture gpt_oss_architecture;
const Architecture gpt_oss_architecture = {
    .name = "gpt-oss", .keys = kKeys, .describe = describe, .layer = layer, .read = nullptr, .has_experts = true};

}  // namespace tandem
