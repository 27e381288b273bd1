// BERT (Devlin et al. 2018, arXiv:1810.04805), an encoder: each token sees the whole text. Embeddings of tokens, of
// positions and of the first type of tokens are added and normed. A LayerNorm follows each sum of the residual stream
// and a block's result. Products have biases, and the feed-forward network is a GELU without a gate.
#include "engine/model/architectures/encoder.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"attention.layer_norm_epsilon"};

void describe(ModelConfig& config) {
  describe_encoder(config);
  config.rope.dim = 0;
  config.position_rows = config.context_length;
  config.activation = Activation::gelu_tanh;
  config.gated = false;
  config.qkv_bias = config.output_bias = config.ffn_bias = true;
}

void read(const GgufFile& file, ModelConfig& config) {
  read_biases(file, config);
  read_embeddings(file, config);
}

}  // namespace

extern const Architecture bert_architecture;
const Architecture bert_architecture = {
    .name = "bert", .keys = kKeys, .describe = describe, .layer = encoder_layer, .read = read};

}  // namespace tandem
