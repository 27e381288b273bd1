// SmolLM3: a Llama in which every fourth layer does not rotate q and k (Yang et al. 2025, arXiv:2501.18795).
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr int64_t kPeriod = 4;

void describe(ModelConfig& config) {
  config.rope.halves = false;
  config.has_rope = all_but_every(config.layers, kPeriod);
}

}  // namespace

extern const Architecture smollm3_architecture;
const Architecture smollm3_architecture = {
    .name = "smollm3", .keys = {}, .describe = describe, .layer = dense_layer, .read = read_attention_biases};

}  // namespace tandem
