// Qwen3: an RMSNorm on every head of q and k before the rotation. A head's width need not be hidden / heads. No biases.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.qk_norm = true;
}

}  // namespace

extern const Architecture qwen3_architecture;
const Architecture qwen3_architecture = {
    .name = "qwen3", .keys = {}, .describe = describe, .layer = dense_layer, .read = nullptr};

}  // namespace tandem
