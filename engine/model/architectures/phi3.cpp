// Phi-3 and Phi-4: one tensor holds q, k and v, another gate and up. Some sizes attend to a window. Some have frequency
// factors for contexts up to the original length and for longer ones, and Phi-4-mini rotates a part of each head.
#include "engine/model/architectures/dense.h"
#include "engine/model/rope_keys.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"attention.sliding_window"};

void describe(ModelConfig& config) { config.rope.halves = config.joined_qkv = true; }

LayerSpec layer(const ModelConfig& config, int64_t index) {
  const std::string prefix = "blk." + std::to_string(index) + ".";
  LayerSpec layer = dense_layer(config, index);
  layer.gate_up.weights = {{prefix + "ffn_up.weight", 2 * config.feed_forward, config.hidden}};
  return layer;
}

}  // namespace

extern const Architecture phi3_architecture;
const Architecture phi3_architecture = {
    .name = "phi3", .keys = kKeys, .describe = describe, .layer = layer, .read = read_long_rope_factors};

}  // namespace tandem
