#include "bench/paper_gpu_ndp/machine.h"

#include <algorithm>

namespace tandem::paper_gpu_ndp {

// Experts, TopK, shared experts, hidden size, width, layers, and bytes of all other weights.
const NdpModelSize& size_of(NdpModel model) {
  static constexpr std::array kSizes{NdpModelSize{"DeepSeek-MoE", 64, 6, 2, 2048, 1408, 27, 1.9e9},
                                     NdpModelSize{"Qwen3-30B-A3B", 128, 8, 0, 2048, 768, 48, 3.1e9},
                                     NdpModelSize{"Phi-3.5-MoE", 16, 2, 0, 4096, 6400, 32, 3.2e9},
                                     NdpModelSize{"Mixtral-8x7B", 8, 2, 0, 4096, 14336, 32, 3.2e9}};
  return kSizes[static_cast<size_t>(model)];
}

// Two bytes a weight: the units must hold all experts.
bool is_supported(const NdpMachine& machine, NdpModel model, int64_t units) {
  return units_hold(units, machine.unit_bytes, 2 * size_of(model).all_experts());
}

NearMemoryRates rates_of(const NdpMachine& machine, NdpModel model) {
  return {size_of(model).expert_bytes(), size_of(model).expert_weights(), machine.gpu_bytes_per_second,
          machine.gpu_flops / 2,         machine.unit_bytes_per_second,   machine.unit_macs_per_second};
}

NearMemoryTimes times_of(const NdpMachine& machine, NdpModel model, int64_t units) {
  const NearMemoryRates rates = rates_of(machine, model);
  return {units, rates.gpu_seconds(1), rates.units_seconds(1, units),
          size_of(model).expert_bytes() / machine.link_bytes_per_second,
          2 * size_of(model).hidden / machine.link_bytes_per_second};
}

// The room behind all other weights and the reserve, in experts of each layer.
int64_t fill_of(const NdpMachine& machine, NdpModel model) {
  const NdpModelSize& size = size_of(model);
  const double free = machine.gpu_bytes - machine.gpu_reserve - size.other_bytes;
  const double one_of_each_layer = size.expert_bytes() * static_cast<double>(size.layers);
  return std::clamp<int64_t>(static_cast<int64_t>(free / one_of_each_layer), 0, size.experts + size.shared);
}

int64_t ablation_prefetch(const NdpMachine& machine, NdpModel model) {
  return std::min(size_of(model).used, fill_of(machine, model));
}

}  // namespace tandem::paper_gpu_ndp
