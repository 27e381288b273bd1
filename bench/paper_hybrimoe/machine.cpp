#include "bench/paper_hybrimoe/machine.h"

#include <algorithm>

namespace tandem::paper_hybrimoe {
namespace {

// gate, up and down of an expert of width I.
constexpr double expert(double hidden, double width) { return 3e-6 * hidden * width; }
// Queries and output, keys and values.
constexpr double attention(double hidden, double kv_width) { return 2e-6 * hidden * (hidden + kv_width); }

constexpr std::array kSizes{
    MixtureSize{"Mixtral", 32, 8, 2, expert(4096, 14336), 0, attention(4096, 1024)},
    MixtureSize{"Qwen2", 28, 64, 8, expert(3584, 2560), expert(3584, 20480), attention(3584, 512)},
    MixtureSize{"DeepSeek", 26, 64, 6, expert(2048, 1408), expert(2048, 2816), attention(2048, 2048)},
};

}  // namespace

const MixtureSize& size_of(Mixture model) { return kSizes[static_cast<size_t>(model)]; }

// A cache of a percentage has at least one expert of each layer.
int64_t cached_experts(Mixture model, int percent) {
  return std::max<int64_t>(1, size_of(model).experts * percent / 100);
}

// Bytes scale the processor's fixed part and the transfer, operations its time of a token. One expert of one token
// takes the calibrated time, of which a token's share is a part.
ExpertCosts costs_of(const Machine& machine, Mixture model) {
  const double weights = size_of(model).expert_weights;
  const double of_qwen2 = weights / size_of(Mixture::qwen2).expert_weights;
  const double of_deepseek = weights / size_of(Mixture::deepseek).expert_weights;
  const double bytes = 1e6 * weights * machine.weight_bits / 8;
  ExpertCosts costs;
  costs.cpu_per_token = machine.cpu_token_ms * of_deepseek;
  costs.cpu_fixed = std::max(0.0, machine.cpu_expert_ms * of_qwen2 - costs.cpu_per_token);
  costs.cpu_first = machine.cpu_first_ms * of_deepseek;
  costs.gpu_fixed = std::max(machine.gpu_expert_ms, 1e3 * bytes / machine.gpu_bytes_per_second);
  costs.gpu_offset = size_of(model).shared_weights > 0 ? machine.gpu_shared_ms : 0;
  costs.transfer = 1e3 * bytes / machine.link_bytes_per_second;
  return costs;
}

// A prompt's further tokens cost arithmetic on the GPU. The first one is in the fixed part.
double before_experts_ms(const Machine& machine, Mixture model, int64_t tokens) {
  const double flops = 2e6 * (size_of(model).shared_weights + size_of(model).other_weights);
  return machine.gpu_layer_ms - costs_of(machine, model).gpu_offset +
         1e3 * flops * static_cast<double>(tokens - 1) / machine.gpu_flops;
}

// Attention and shared experts have the processor's time of as many weights of routed experts.
double processor_layer_ms(const Machine& machine, Mixture model, std::span<const int64_t> loads, int64_t tokens) {
  const ExpertCosts costs = costs_of(machine, model);
  const MixtureSize& size = size_of(model);
  const double others = (size.shared_weights + size.other_weights) / size.expert_weights;
  double ms = costs.cpu_first + others * (costs.cpu_fixed + costs.cpu_per_token * static_cast<double>(tokens));
  for (const int64_t load : loads) ms += costs.cpu_fixed + costs.cpu_per_token * static_cast<double>(load);
  return ms;
}

}  // namespace tandem::paper_hybrimoe
