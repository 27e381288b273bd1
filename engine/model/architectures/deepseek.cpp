// DeepSeek-MoE (the 16B model). The first layers are dense. In the others every token uses shared experts besides those
// that the router chooses. The converter reorders the rows of q and k, so the rotation pairs neighbouring values.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"expert_count"};

void describe(ModelConfig& config) { config.rope.halves = false; }

}  // namespace

extern const Architecture deepseek_architecture;
const Architecture deepseek_architecture = {.name = "deepseek",
                                            .keys = kKeys,
                                            .describe = describe,
                                            .layer = dense_layer,
                                            .read = nullptr,
                                            .has_experts = true};

}  // namespace tandem
