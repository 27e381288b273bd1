// Granite 3: a Llama that scales embeddings, attention scores, residual branches and logits by numbers from the file.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"attention.scale", "embedding_scale", "residual_scale", "logit_scale"};

void describe(ModelConfig& config) { config.rope.halves = false; }

}  // namespace

extern const Architecture granite_architecture;
const Architecture granite_architecture = {
    .name = "granite", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = read_biases};

}  // namespace tandem
