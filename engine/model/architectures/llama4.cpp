// Llama 4: three of four layers are rotated, see a chunk of the positions, and norm heads of q and k without weights.
// The others see all positions and multiply queries by a factor that grows with the position. A token goes to one
// expert, whose input is multiplied by a sigmoid, and to a shared one. Half of the larger size is dense layers.
#include "engine/model/architectures/dense.h"
#include "engine/model/expert_keys.h"
#include "engine/model/rope_keys.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr const char *kLength = "attention.temperature_length", *kScale = "attention.temperature_scale";
constexpr const char* kKeys[] = {"expert_count", kExpertStep, "attention.sliding_window", kLength, kScale};
// Of both published sizes. Files leave them out.
constexpr int64_t kChunk = 8192, kTemperatureLength = 8192, kLayersOfPeriod = 4;
constexpr float kTemperatureScale = 0.1f;
constexpr int64_t kExpertsOfMaverick = 128;  // this size does not norm q and k

void describe(ModelConfig& config) {
  ExpertsConfig& experts = *config.experts;
  if (experts.used != 1)
    throw Error("experts of Llama 4 that share a token", config.name, "expected one expert of each token");
  config.rope.halves = false;
  config.window_is_chunk = true;
  if (config.window == 0) config.window = kChunk;
  config.has_window = config.has_rope = all_but_every(config.layers, kLayersOfPeriod);
  config.unit_qk_norm = experts.count != kExpertsOfMaverick;
  if (!config.temperature) config.temperature = TemperatureConfig{kTemperatureScale, 0, true};
  config.temperature->unrotated = true;
  if (config.temperature->length == 0) config.temperature->length = kTemperatureLength;
  experts.gating = Gating::sigmoid;
  experts.scales_input = true;
  if (experts.shared_feed_forward == 0) experts.shared_feed_forward = experts.feed_forward;
}

void read(const GgufFile& file, ModelConfig& config) {
  const ConfigKeys keys(file, config.architecture);
  if (const auto length = keys.size(kLength, int64_t{1} << 30)) config.temperature->length = *length;
  read_rope_factors(file, config);
}

}  // namespace

extern const Architecture llama4_architecture;
const Architecture llama4_architecture = {
    .name = "llama4", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = read, .has_experts = true};

}  // namespace tandem
