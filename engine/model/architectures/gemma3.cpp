// Gemma 3: of six layers five attend to a window, with a rotation of their own. Every head of q and k is normed. A
// block's result is normed before it is added to the residual stream. The gate is a GELU, and the embeddings are
// scaled. The converter has already added the 1 that the published norms add to their weights.
#include <cmath>

#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"attention.sliding_window", "rope.freq_base_swa", "final_logit_softcapping"};
constexpr int64_t kPeriod = 6;  // the last layer of each period sees all positions
constexpr float kWindowBase = 10000.0f;
constexpr int64_t kLayersOf27B = 62;  // this size scales queries by hidden / heads instead of their width

// Layers with a window rotate with their own base and without scaling.
void describe(ModelConfig& config) {
  config.rope.halves = config.qk_norm = config.post_norms = true;
  config.activation = Activation::gelu_tanh;
  config.embedding_scale = std::sqrt(static_cast<float>(config.hidden));
  config.window_rope = unscaled(config.rope, config.window_rope ? config.window_rope->base : kWindowBase);
  config.has_window = all_but_every(config.layers, kPeriod);
  if (config.layers == kLayersOf27B)
    config.given_attention_scale =
        1.0f / std::sqrt(static_cast<float>(config.hidden) / static_cast<float>(config.heads));
}

}  // namespace

extern const Architecture gemma3_architecture;
const Architecture gemma3_architecture = {
    .name = "gemma3", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = nullptr};

}  // namespace tandem
