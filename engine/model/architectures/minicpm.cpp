// MiniCPM (Hu et al. 2024, arXiv:2404.06395): a Llama that scales embeddings, residual branches and logits. Older files
// leave the scales out; they are those of the published sizes then.
#include <cmath>

#include "engine/model/architectures/dense.h"
#include "engine/model/config_keys.h"
#include "engine/model/rope_keys.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"embedding_scale", "residual_scale", "logit_scale"};
constexpr float kEmbeddingScale = 12, kDepthScale = 1.4f, kBaseWidth = 256;

void describe(ModelConfig& config) { config.rope.halves = false; }

void read(const GgufFile& file, ModelConfig& config) {
  const ConfigKeys keys(file, config.architecture);
  if (!keys.number("embedding_scale")) config.embedding_scale = kEmbeddingScale;
  if (!keys.number("residual_scale"))
    config.residual_scale = kDepthScale / std::sqrt(static_cast<float>(config.layers));
  if (!keys.number("logit_scale")) config.logit_scale = kBaseWidth / static_cast<float>(config.hidden);
  read_attention_biases(file, config);
  read_long_rope_factors(file, config);
}

}  // namespace

extern const Architecture minicpm_architecture;
const Architecture minicpm_architecture = {
    .name = "minicpm", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = read};

}  // namespace tandem
