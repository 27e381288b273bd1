// Qwen2 and Qwen2.5: biases on q, k and v. The rotation pairs value i with value i + rope.dim / 2.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

void describe(ModelConfig& config) { config.rope.halves = true; }

}  // namespace

extern const Architecture qwen2_architecture;
const Architecture qwen2_architecture = {
    .name = "qwen2", .keys = {}, .describe = describe, .layer = dense_layer, .read = read_attention_biases};

}  // namespace tandem
