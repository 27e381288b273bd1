// OLMo 2 and OLMo 3 (OLMo Team 2024, arXiv:2501.00656): no norm before a block, but one behind it; q and k are normed
// over all heads together. In OLMo 3 three of four layers attend to a window, and their rotation is not stretched.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"attention.sliding_window"};
constexpr int64_t kPeriod = 4;

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.pre_norms = false;
  config.post_norms = config.qk_norm = config.qk_norm_whole = true;
  // Files of OLMo 3 state YaRN's whole magnitude, as the published configuration does.
  if (config.rope.attention_factor != 1) config.rope.yarn_magnitude = false;
  if (config.window == 0) return;
  config.has_window = all_but_every(config.layers, kPeriod);
  config.window_rope = unscaled(config.rope, config.rope.base);
}

}  // namespace

extern const Architecture olmo2_architecture;
const Architecture olmo2_architecture = {
    .name = "olmo2", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = nullptr};

}  // namespace tandem
