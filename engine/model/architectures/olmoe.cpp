// OLMoE: the weights of a token's experts do not add up to 1. One norm of q and one of k cover all heads together.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"expert_count"};

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.qk_norm = config.qk_norm_whole = true;
}

}  // namespace

extern const Architecture olmoe_architecture;
const Architecture olmoe_architecture = {
    .name = "olmoe", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = nullptr, .has_experts = true};

}  // namespace tandem
