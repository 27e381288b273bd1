// The text part of Qwen2-VL and Qwen2.5-VL: Qwen2. Positions of pictures have three dimensions.
#include "engine/model/architectures/dense.h"
#include "engine/model/architectures/text_sections.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {kSections};

void describe(ModelConfig& config) { config.rope.halves = true; }

void read(const GgufFile& file, ModelConfig& config) {
  require_text_sections(file, config);
  read_attention_biases(file, config);
}

}  // namespace

extern const Architecture qwen2vl_architecture;
const Architecture qwen2vl_architecture = {
    .name = "qwen2vl", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = read};

}  // namespace tandem
