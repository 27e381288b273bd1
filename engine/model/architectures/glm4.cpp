// GLM-4-0414: a part of each head is rotated, one tensor holds gate and up, and a block's result is normed before it is
// added to the residual stream. GLM-4.1V has the same text part.
#include "engine/model/architectures/dense.h"
#include "engine/model/architectures/text_sections.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {kSections};

void describe(ModelConfig& config) {
  config.rope.halves = false;
  config.post_norms = true;
}

LayerSpec layer(const ModelConfig& config, int64_t index) {
  LayerSpec layer = dense_layer(config, index);
  layer.gate_up.weights = {{"blk." + std::to_string(index) + ".ffn_up.weight", 2 * config.feed_forward, config.hidden}};
  return layer;
}

// The converter of GLM-4.1V reorders the rows of q and k, so that the rotation turns halves.
void read(const GgufFile& file, ModelConfig& config) {
  config.rope.halves = has_text_sections(file, config);
  read_attention_biases(file, config);
}

}  // namespace

extern const Architecture glm4_architecture;
const Architecture glm4_architecture = {
    .name = "glm4", .keys = kKeys, .describe = describe, .layer = layer, .read = read};

}  // namespace tandem
