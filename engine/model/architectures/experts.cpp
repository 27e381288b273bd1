#include "engine/model/architectures/experts.h"

namespace tandem {

void add_experts(const ModelConfig& config, const std::string& prefix, LayerSpec& layer) {
  const ExpertsConfig& experts = *config.experts;
  const int64_t H = config.hidden, I = experts.feed_forward, shared = experts.shared_feed_forward;
  layer.router.weights = {{prefix + "ffn_gate_inp.weight", experts.count, H}};
  const auto stacked = [&](const std::string& name, int64_t rows, int64_t columns) {
    return StackedSpec{prefix + name + "_exps.weight", rows, columns, prefix + name + "."};
  };
  layer.expert_gate_up = {experts.count, {stacked("ffn_gate", I, H), stacked("ffn_up", I, H)}};
  layer.expert_down = {experts.count, {stacked("ffn_down", H, I)}};
  if (shared == 0) return;
  if (experts.shared_gate) layer.router.weights.push_back({prefix + "ffn_gate_inp_shexp.weight", 1, H});
  layer.gate_up.weights = {{prefix + "ffn_gate_shexp.weight", shared, H}, {prefix + "ffn_up_shexp.weight", shared, H}};
  layer.down.weights = {{prefix + "ffn_down_shexp.weight", H, shared}};
}

}  // namespace tandem
