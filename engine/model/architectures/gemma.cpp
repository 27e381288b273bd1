// Gemma, the first: the gate is a GELU, and the embeddings are scaled. The converter has already added the 1 that the
// published norms add to their weights.
#include <cmath>

#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.activation = Activation::gelu_tanh;
  config.embedding_scale = std::sqrt(static_cast<float>(config.hidden));
}

}  // namespace

extern const Architecture gemma_architecture;
const Architecture gemma_architecture = {
    .name = "gemma", .keys = {}, .describe = describe, .layer = dense_layer, .read = nullptr};

}  // namespace tandem
