// Hunyuan, its mixtures: experts whose weights add up to 1, beside shared ones. Every head of q and k is normed behind
// its rotation.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"expert_count"};

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.qk_norm = config.qk_norm_last = true;
  config.experts->normalised = true;
}

}  // namespace

extern const Architecture hunyuan_moe_architecture;
const Architecture hunyuan_moe_architecture = {.name = "hunyuan-moe",
                                               .keys = kKeys,
                                               .describe = describe,
                                               .layer = dense_layer,
                                               .read = read_attention_biases,
                                               .has_experts = true};

}  // namespace tandem
