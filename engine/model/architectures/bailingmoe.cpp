// Ling, its first mixtures (Bailing MoE): experts beside shared ones. The file says whether the weights of a token add
// up to 1, and their scale.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"expert_count"};

void describe(ModelConfig& config) { config.rope.halves = false; }

}  // namespace

extern const Architecture bailingmoe_architecture;
const Architecture bailingmoe_architecture = {.name = "bailingmoe",
                                              .keys = kKeys,
                                              .describe = describe,
                                              .layer = dense_layer,
                                              .read = read_attention_biases,
                                              .has_experts = true};

}  // namespace tandem
