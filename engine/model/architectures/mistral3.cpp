// Ministral 3 (Mistral AI 2025): a Llama with YaRN. Beyond the original context a temperature grows with the position,
// and queries are multiplied by it. YaRN's factor is divided by one with the file's multiplier, which is 1 in published
// files and leaves no factor. Files of Mistral Small 3.1 have this name, but neither YaRN nor a temperature.
#include "engine/model/architectures/dense.h"
#include "engine/model/config_keys.h"
#include "engine/model/rope_keys.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"attention.scale", "attention.temperature_scale", "rope.scaling.yarn_log_multiplier"};

void describe(ModelConfig& config) {
  config.rope.halves = false;
  config.rope.yarn_divisor = config.rope.yarn_log_multiplier;
  if (config.temperature) config.temperature->length = config.rope.original_context;
}

void read(const GgufFile& file, ModelConfig& config) {
  read_attention_biases(file, config);
  read_rope_factors(file, config);
  if (config.temperature && config.rope.dim != config.head_dim)
    ConfigKeys(file, config.architecture)
        .fail("attention.temperature_scale", "a temperature of heads that are not rotated as a whole is not supported");
}

}  // namespace

extern const Architecture mistral3_architecture;
const Architecture mistral3_architecture = {
    .name = "mistral3", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = read};

}  // namespace tandem
