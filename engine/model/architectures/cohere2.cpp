// Command R7B and Command A (Cohere 2025, arXiv:2504.00698): Command R, in which three of four layers attend to a
// window. The fourth sees all positions and has no rotation of its heads.
#include "engine/model/architectures/dense.h"
#include "engine/model/rope_keys.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"attention.layer_norm_epsilon", "attention.sliding_window", "logit_scale"};
constexpr int64_t kPeriod = 4;
constexpr int64_t kWindow = 4096;  // of all published sizes

void describe(ModelConfig& config) {
  config.rope.halves = false;
  config.layer_norm = config.parallel = true;
  config.norm_bias = false;
  if (config.window == 0) config.window = kWindow;
  config.has_rope = config.has_window = all_but_every(config.layers, kPeriod);
}

void read(const GgufFile& file, ModelConfig& config) {
  read_attention_biases(file, config);
  read_rope_factors(file, config);
}

}  // namespace

extern const Architecture cohere2_architecture;
const Architecture cohere2_architecture = {.name = "cohere2",
                                           .keys = kKeys,
                                           .describe = describe,
                                           .layer = dense_layer,
                                           .read = read,
                                           .multiplies_logits = true};

}  // namespace tandem
