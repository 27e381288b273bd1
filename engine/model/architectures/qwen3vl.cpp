// The text part of Qwen3-VL: Qwen3. Positions of pictures have three dimensions, and the first layers add what pictures
// have in them (n_deepstack_layers).
#include "engine/model/architectures/dense.h"
#include "engine/model/architectures/text_sections.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {kSections, "n_deepstack_layers"};

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.qk_norm = true;
}

}  // namespace

extern const Architecture qwen3vl_architecture;
const Architecture qwen3vl_architecture = {
    .name = "qwen3vl", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = require_text_sections};

}  // namespace tandem
