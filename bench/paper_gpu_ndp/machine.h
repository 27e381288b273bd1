// The GPU-NDP paper's machine and models (G1).
//
// Contract: plain values and pure functions. Seconds, bytes. `printed` numbers are the paper's (Tables I and II, its
// section IV.A). `public` ones stand in data sheets and published configurations.
#pragma once

#include <array>
#include <cstdint>

#include "engine/moe/near_memory.h"

namespace tandem::paper_gpu_ndp {

struct NdpMachine {
  double gpu_bytes_per_second = 960e9;     // public
  double gpu_flops = 198e12;               // public, fp16 tensor cores
  double gpu_bytes = 16e9;                 // printed
  double gpu_reserve = 1e9;                // for keys, values and activations: a choice
  double link_bytes_per_second = 63e9;     // public: PCIe 5.0 x16 after coding
  double cpu_bytes_per_second = 89.6e9;    // printed
  double unit_bytes_per_second = 102.4e9;  // printed
  double unit_macs_per_second = 51.2e9;    // 64 multipliers (printed) at 0.8 GHz: GF6 agrees with it
  double unit_bytes = 32e9;                // printed
};

enum class NdpModel : uint8_t { deepseek, qwen3, phi, mixtral };
inline constexpr std::array kNdpModels{NdpModel::deepseek, NdpModel::qwen3, NdpModel::phi, NdpModel::mixtral};

struct NdpModelSize {
  const char* name;
  int64_t experts, used, shared;  // E and TopK of routed experts; shared ones are active for every token
  double hidden, width;           // H, I; Phi's columns are swapped in Table II
  int64_t layers;                 // with experts
  double other_bytes;             // everything but experts (public)
  int64_t active() const { return used + shared; }
  double expert_weights() const { return 3 * hidden * width; }
  double expert_bytes() const { return 2 * expert_weights(); }  // fp16
  double all_experts() const { return expert_weights() * static_cast<double>((experts + shared) * layers); }
};
const NdpModelSize& size_of(NdpModel model);

inline constexpr std::array<int64_t, 5> kUnitCounts{2, 3, 4, 5, 6};
inline constexpr int64_t kPromptTokens = 512, kOutputTokens = 512;  // printed

bool is_supported(const NdpMachine& machine, NdpModel model, int64_t units);
// T_g, T_n, T_w, T_a of one token.
NearMemoryTimes times_of(const NdpMachine& machine, NdpModel model, int64_t units);
NearMemoryRates rates_of(const NdpMachine& machine, NdpModel model);
// G4: the experts of a layer that the GPU's memory has room for.
int64_t fill_of(const NdpMachine& machine, NdpModel model);
// GF14, GF15: TopK experts, as far as they fit.
int64_t ablation_prefetch(const NdpMachine& machine, NdpModel model);

}  // namespace tandem::paper_gpu_ndp
