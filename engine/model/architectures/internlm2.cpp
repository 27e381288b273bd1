// InternLM2: a Llama whose files keep q, k and v apart, with the same reordered rows of q and k.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

void describe(ModelConfig& config) { config.rope.halves = false; }

}  // namespace

extern const Architecture internlm2_architecture;
const Architecture internlm2_architecture = {
    .name = "internlm2", .keys = {}, .describe = describe, .layer = dense_layer, .read = read_attention_biases};

}  // namespace tandem
