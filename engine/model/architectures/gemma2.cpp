// Gemma 2: every other layer attends to a window. Scores and logits have soft caps. A block's result is normed before
// it is added to the residual stream. The gate is a GELU, and the embeddings are scaled. The converter has already
// added the 1 that the published norms add to their weights.
#include <cmath>

#include "engine/model/architectures/dense.h"
#include "engine/model/config_keys.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"attention.sliding_window", "attn_logit_softcapping", "final_logit_softcapping"};
// Values of all published sizes. Some files leave them out.
constexpr float kAttentionCap = 50.0f, kLogitCap = 30.0f;
constexpr int64_t kWindow = 4096;     // likewise
constexpr int64_t kLayersOf27B = 46;  // this size scales queries by hidden / heads instead of their width

void describe(ModelConfig& config) {
  config.rope.halves = config.post_norms = true;
  config.activation = Activation::gelu_tanh;
  config.embedding_scale = std::sqrt(static_cast<float>(config.hidden));
  if (config.attention_cap == 0.0f) config.attention_cap = kAttentionCap;
  if (config.logit_cap == 0.0f) config.logit_cap = kLogitCap;
  if (config.window == 0) config.window = kWindow;
  // Layers with and without a window take turns, and the first layer has one.
  config.has_window = all_but_every(config.layers, 2);
  if (config.layers == kLayersOf27B)
    config.given_attention_scale =
        1.0f / std::sqrt(static_cast<float>(config.hidden) / static_cast<float>(config.heads));
}

// Without caps it would be another model, so a file may not state that there is none.
void read(const GgufFile& file, ModelConfig& config) {
  const ConfigKeys keys(file, config.architecture);
  for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"})
    if (keys.number(key) == 0.0) keys.fail(key, "found 0, expected above 0, to 1e6");
}

}  // namespace

extern const Architecture gemma2_architecture;
const Architecture gemma2_architecture = {
    .name = "gemma2", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = read};

}  // namespace tandem
