// Granite 3 MoE: Granite with experts, whose weights add up to 1. Some sizes have a shared expert.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"expert_count", "attention.scale", "embedding_scale", "residual_scale", "logit_scale"};

void describe(ModelConfig& config) {
  config.rope.halves = false;
  config.experts->normalised = true;
}

}  // namespace

extern const Architecture granitemoe_architecture;
const Architecture granitemoe_architecture = {.name = "granitemoe",
                                              .keys = kKeys,
                                              .describe = describe,
                                              .layer = dense_layer,
                                              .read = read_attention_biases,
                                              .has_experts = true};

}  // namespace tandem
