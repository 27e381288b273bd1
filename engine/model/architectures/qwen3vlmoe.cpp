// The text part of Qwen3-VL with experts: Qwen3-MoE. For pictures see qwen3vl.cpp.
#include "engine/model/architectures/dense.h"
#include "engine/model/architectures/text_sections.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"expert_count", kSections, "n_deepstack_layers"};

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.qk_norm = true;
  config.experts->normalised = true;
}

}  // namespace

extern const Architecture qwen3vlmoe_architecture;
const Architecture qwen3vlmoe_architecture = {.name = "qwen3vlmoe",
                                              .keys = kKeys,
                                              .describe = describe,
                                              .layer = dense_layer,
                                              .read = require_text_sections,
                                              .has_experts = true,
                                              .takes_expert_norm = true};

}  // namespace tandem
