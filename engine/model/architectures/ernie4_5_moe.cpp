// ERNIE 4.5, its mixtures: experts whose weights add up to 1, beside shared ones, behind dense layers. A bias enters
// the choice of experts.
#include "engine/model/architectures/dense.h"
#include "engine/model/expert_keys.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"expert_count", kExpertStep};

void describe(ModelConfig& config) {
  config.rope.halves = false;
  config.experts->normalised = true;
}

}  // namespace

extern const Architecture ernie4_5_moe_architecture;
const Architecture ernie4_5_moe_architecture = {.name = "ernie4_5-moe",
                                                .keys = kKeys,
                                                .describe = describe,
                                                .layer = dense_layer,
                                                .read = read_attention_biases,
                                                .has_experts = true,
                                                .may_have_choice_bias = true};

}  // namespace tandem
