// StarCoder2 (Lozhkov et al. 2024, arXiv:2402.19173): LayerNorms, a GELU without a gate, and biases of every product.
// All layers attend to a window, which the files do not state.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"attention.layer_norm_epsilon", "attention.sliding_window"};
constexpr int64_t kWindow = 4096;  // of all published sizes

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.layer_norm = true;
  config.gated = false;
  config.activation = Activation::gelu_tanh;
  if (config.window == 0) config.window = kWindow;
  config.qkv_bias = config.output_bias = config.ffn_bias = true;
}

}  // namespace

extern const Architecture starcoder2_architecture;
const Architecture starcoder2_architecture = {
    .name = "starcoder2", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = read_biases};

}  // namespace tandem
