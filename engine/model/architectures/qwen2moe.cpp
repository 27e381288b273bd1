// Qwen1.5-MoE and Qwen2-MoE: Qwen2 with experts whose weights do not add up to 1. A shared expert is multiplied by a
// sigmoid of its own score.
#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"expert_count"};

void describe(ModelConfig& config) {
  config.rope.halves = true;
  config.experts->shared_gate = config.experts->shared_feed_forward > 0;
}

void read(const GgufFile& file, ModelConfig& config) {
  read_attention_biases(file, config);
  read_expert_width(file, config);
  ExpertsConfig& experts = *config.experts;
  // The first files state no width of the shared expert either.
  if (file.find("blk.0.ffn_up_shexp.weight") != nullptr && experts.shared_feed_forward == 0)
    experts.shared_feed_forward = config.feed_forward;
  experts.shared_gate = experts.shared_feed_forward > 0;
}

}  // namespace

extern const Architecture qwen2moe_architecture;
const Architecture qwen2moe_architecture = {
    .name = "qwen2moe", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = read, .has_experts = true};

}  // namespace tandem
