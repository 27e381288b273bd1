#include "engine/model/architectures/encoder.h"

#include <string>

#include "sync/error.h"

namespace tandem {

// A shape alone has BERT's two types of tokens. Files say it by their tensors.
void describe_encoder(ModelConfig& config) {
  config.sees_all = config.layer_norm = config.norm_bias = config.sum_norms = true;
  config.pre_norms = false;
  config.tied_output = true;  // no file has an output
  config.token_types = 2;
  config.rope.halves = true;
}

void read_embeddings(const GgufFile& file, ModelConfig& config) {
  const GgufTensor* positions = file.find("position_embd.weight");
  if (config.position_rows > 0 && positions != nullptr && positions->shape.size() > 1)
    config.position_rows = positions->shape[1];
  const GgufTensor* types = file.find("token_types.weight");
  config.token_types = types == nullptr ? 0 : types->shape.size() > 1 ? types->shape[1] : 1;
}

LayerSpec encoder_layer(const ModelConfig& config, int64_t index) {
  const std::string prefix = "blk." + std::to_string(index) + ".";
  LayerSpec layer = dense_layer(config, index);
  layer.attention_norm_bias = layer.ffn_norm_bias = {};
  layer.attention_post_norm = {prefix + "attn_output_norm.weight", config.hidden};
  layer.attention_post_norm_bias = {prefix + "attn_output_norm.bias", config.hidden};
  layer.ffn_post_norm = {prefix + "layer_output_norm.weight", config.hidden};
  layer.ffn_post_norm_bias = {prefix + "layer_output_norm.bias", config.hidden};
  return layer;
}

}  // namespace tandem
