// Qwen3-MoE: Qwen3 with experts whose weights add up to 1. No expert is shared.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"expert_count"};

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.qk_norm = true;
  config.experts->normalised = true;
}

}  // namespace

extern const Architecture qwen3moe_architecture;
const Architecture qwen3moe_architecture = {.name = "qwen3moe",
                                            .keys = kKeys,
                                            .describe = describe,
                                            .layer = dense_layer,
                                            .read = read_expert_width,
                                            .has_experts = true,
                                            .takes_expert_norm = true};

}  // namespace tandem
