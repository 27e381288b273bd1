// EXAONE 4 (LG AI Research 2025, arXiv:2507.11407): a norm behind each block and none before it; every head of q and k
// is normed. In the large size three of four layers attend to a window. The fourth sees all positions and has no
// rotation of its heads.
#include "engine/model/architectures/dense.h"
#include "engine/model/rope_keys.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"attention.sliding_window"};
constexpr int64_t kPeriod = 4;

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.pre_norms = false;
  config.post_norms = config.qk_norm = true;
  if (config.window > 0) config.has_rope = config.has_window = all_but_every(config.layers, kPeriod);
}

}  // namespace

extern const Architecture exaone4_architecture;
const Architecture exaone4_architecture = {
    .name = "exaone4", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = read_rope_factors};

}  // namespace tandem
