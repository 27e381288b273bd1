// Hunyuan, its dense sizes: every head of q and k is normed behind its rotation.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.qk_norm = config.qk_norm_last = true;
}

}  // namespace

extern const Architecture hunyuan_dense_architecture;
const Architecture hunyuan_dense_architecture = {
    .name = "hunyuan-dense", .keys = {}, .describe = describe, .layer = dense_layer, .read = read_attention_biases};

}  // namespace tandem
