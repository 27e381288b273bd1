// InternLM2: a Llama whose files store q, k and v apart. The converter reorders the rows of q and k as for Llama.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

void describe(ModelConfig& config) { config.rope.halves = false; }

}  // namespace

extern const Architecture internlm2_architecture;
const Architecture internlm2_architecture = {
    .name = "internlm2", .keys = {}, .describe = describe, .layer = dense_layer, .read = read_attention_biases};

}  // namespace tandem
