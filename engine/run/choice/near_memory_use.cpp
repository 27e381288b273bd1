#include "engine/run/choice/near_memory_use.h"

#include <algorithm>

namespace tandem {

NearMemoryModel near_memory_model(const ModelConfig& config, const ModelWeights& weights) {
  NearMemoryModel model;
  double all = 0;
  for (const LayerWeights& layer : weights.layers) {
    if (layer.expert_gate_up.count == 0) continue;
    ++model.layers;
    const auto bytes = static_cast<double>(layer.expert_gate_up.bytes() + layer.expert_down.bytes());
    all += bytes;
    model.expert_bytes = bytes / static_cast<double>(layer.expert_gate_up.count);
  }
  model.experts = config.experts->count, model.top_k = config.experts->used;
  model.expert_macs = 3.0 * static_cast<double>(config.hidden) * static_cast<double>(config.experts->feed_forward);
  model.activation_bytes = 4.0 * static_cast<double>(config.hidden);
  model.other_bytes = std::max(0.0, static_cast<double>(weights.bytes) - all);
  return model;
}

std::unique_ptr<NearMemorySides> sides_of(std::span<const DeviceInfo* const> devices, const ModelConfig& config,
                                          const ModelWeights& weights, const Strategy& strategy,
                                          const UnitOptions& options) {
  const auto is_unit = [](const DeviceInfo* device) { return device->near_memory.is_there(); };
  const auto first = std::ranges::find_if(devices, is_unit);
  if (!strategy.near_memory || !config.experts || first == devices.end()) return nullptr;
  const NearMemory& unit = (*first)->near_memory;
  const NearMemoryCard card{unit.link_bytes_per_second, unit.card_bytes_per_second, unit.card_macs_per_second,
                            unit.card_memory_bytes,     unit.bytes_per_second,      unit.macs_per_second,
                            unit.host_bytes_per_second};
  const int64_t units = std::ranges::count_if(devices, is_unit);
  return std::make_unique<NearMemorySides>(near_memory_machine(near_memory_model(config, weights), card, units),
                                           *strategy.near_memory, options);
}

}  // namespace tandem
