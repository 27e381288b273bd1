// Jina Embeddings 2 (Günther et al. 2023, arXiv:2310.19923), an encoder like BERT. ALiBi takes the place of embeddings
// of positions: the further a token is away, the lower is its score, in both directions. The feed-forward network has a
// gated GELU, and only its last product has a bias.
#include "engine/model/architectures/encoder.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"attention.layer_norm_epsilon", "attention.max_alibi_bias"};

// Files do not state the slopes, which are those of the paper.
constexpr float kPublishedAlibi = 8;

void describe(ModelConfig& config) {
  describe_encoder(config);
  config.rope.dim = 0;
  if (config.alibi == 0) config.alibi = kPublishedAlibi;
  config.activation = Activation::gelu_tanh;
  config.qkv_bias = config.output_bias = config.ffn_bias = true;
}

void read(const GgufFile& file, ModelConfig& config) {
  read_biases(file, config);
  read_embeddings(file, config);
}

}  // namespace

extern const Architecture jina_bert_v2_architecture;
const Architecture jina_bert_v2_architecture = {
    .name = "jina-bert-v2", .keys = kKeys, .describe = describe, .layer = encoder_layer, .read = read};

}  // namespace tandem
