// StableLM 3B and StableLM 2 1.6B: LayerNorms with biases, and a part of each head is rotated. Some files state a
// parallel residual that the model does not have: a file whose layers have a norm before the feed-forward network adds
// the blocks one after the other. The 12B size has norms of q and k, and is refused by their tensors.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"attention.layer_norm_epsilon", "use_parallel_residual"};

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.layer_norm = true;
}

}  // namespace

extern const Architecture stablelm_architecture;
const Architecture stablelm_architecture = {
    .name = "stablelm", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = read_attention_biases};

}  // namespace tandem
