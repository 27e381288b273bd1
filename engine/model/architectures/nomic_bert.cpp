// Nomic Embed (Nussbaum et al. 2024, arXiv:2402.01613), an encoder like BERT with rotated heads in the place of
// embeddings of positions, one tensor for q, k and v, and a gated feed-forward network. Its products have no biases.
#include "engine/model/architectures/encoder.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"attention.layer_norm_epsilon"};

void describe(ModelConfig& config) {
  describe_encoder(config);
  config.joined_qkv = true;
}

void read(const GgufFile& file, ModelConfig& config) {
  read_attention_biases(file, config);
  read_embeddings(file, config);
}

}  // namespace

extern const Architecture nomic_bert_architecture;
const Architecture nomic_bert_architecture = {
    .name = "nomic-bert", .keys = kKeys, .describe = describe, .layer = encoder_layer, .read = read};

}  // namespace tandem
