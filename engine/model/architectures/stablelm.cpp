// StableLM 3B and StableLM 2 (Bellagente et al. 2024, arXiv:2402.17834): LayerNorms with biases, and a part of each
// head is rotated. Some files state a parallel residual that the model does not have: a file whose layers have a norm
// before the feed-forward network adds the blocks one after the other. In the 12B size both blocks read one norm, and
// every head of q and k is normed with weights of its own.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"attention.layer_norm_epsilon", "use_parallel_residual"};

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.layer_norm = true;
  config.parallel = config.qk_norm_each = config.qk_norm;  // of a shape alone: the 12B size has both
}

void read(const GgufFile& file, ModelConfig& config) {
  read_attention_biases(file, config);
  read_head_norms(file, config);
  const bool may_be_parallel = file.get_bool("stablelm.use_parallel_residual").value_or(true);
  config.parallel = may_be_parallel && file.find("blk.0.ffn_norm.weight") == nullptr;
}

}  // namespace

extern const Architecture stablelm_architecture;
const Architecture stablelm_architecture = {
    .name = "stablelm", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = read};

}  // namespace tandem
