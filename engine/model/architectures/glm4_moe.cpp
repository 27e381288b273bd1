// GLM-4.5, 4.6 and 4.7: experts beside a shared one, behind dense layers. Their scores are sigmoids, and a bias enters
// the choice. A part of each head is rotated. The large sizes norm every head of q and k. Layers that draft more tokens
// are not computed. Files have another name for the norm before the feed-forward network. The text part of GLM-4.5V is
// the same.
#include "engine/model/architectures/dense.h"
#include "engine/model/architectures/text_sections.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"expert_count", "expert_group_count", "nextn_predict_layers", kSections};

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.experts->gating = Gating::sigmoid;
  config.experts->normalised = true;
}

LayerSpec layer(const ModelConfig& config, int64_t index) {
  LayerSpec layer = dense_layer(config, index);
  layer.ffn_norm.name = "blk." + std::to_string(index) + ".post_attention_norm.weight";
  return layer;
}

void read(const GgufFile& file, ModelConfig& config) {
  require_text_sections(file, config);
  read_attention_biases(file, config);
  config.qk_norm = file.find("blk.0.attn_q_norm.weight") != nullptr;
}

}  // namespace

extern const Architecture glm4_moe_architecture;
const Architecture glm4_moe_architecture = {.name = "glm4moe",
                                            .keys = kKeys,
                                            .describe = describe,
                                            .layer = layer,
                                            .read = read,
                                            .has_experts = true,
                                            .may_have_choice_bias = true,
                                            .takes_expert_norm = true};

}  // namespace tandem
