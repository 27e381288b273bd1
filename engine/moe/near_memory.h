// G1 to G4: experts in near-memory units beside a GPU. The GPU takes so much of a layer that both sides end at once.
//
// Contract: pure functions over seconds, bytes and operations that the caller gives. All units together compute an
// expert (G2), so T_n is the time of all of them. Source: GPU-NDP, sections III.B to III.D; the paper's names are
// T_g, T_n, T_w, T_a, N, S, TopK. Its readings and our choices are in docs/gpu-ndp.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem {

struct NearMemoryTimes {
  int64_t units = 1;           // N
  double gpu_expert = 0;       // T_g: an expert on the GPU, above 0
  double unit_expert = 0;      // T_n: an expert on all units, above 0
  double move_expert = 0;      // T_w: moves an expert to the GPU, above 0
  double move_activation = 0;  // T_a: moves one token's activations to or from one unit, 0 or more
};

// (N + 1) T_a + (S - 1) N T_a: one broadcast to the units, and a partial result of each unit for each of S tokens.
double activation_seconds(const NearMemoryTimes& times, int64_t tokens = 1);

// G1: whether the units hold all experts. If not, a configuration is "not supported".
bool units_hold(int64_t units, double unit_bytes, double experts_bytes);

// G2: the features of an expert's inner width I that a unit computes; the first units have one more if N does not
// divide I. [N], and they add up to I.
std::vector<int64_t> features_of_units(int64_t I, int64_t units);

// Numbers of experts, which need not be whole: of a part of an expert some features are moved.
struct ExpertBalance {
  double on_gpu = 0, on_units = 0;  // E_g + E_n = TopK
};
// G3, Eq. 1: T_w E_g + T_g E_g' = (N + 1) T_a + T_n E_n. E_g' is the fraction of E_g in (0, 1], over N. Without a
// solution everything is on the side that ends first. top_k: at least 1.
ExpertBalance decode_balance(const NearMemoryTimes& times, int64_t top_k);
// G3, Eq. 2 as it is written: (S - 1) T_a N more on the left. prompt: S tokens, at least 1.
ExpertBalance prefill_balance(const NearMemoryTimes& times, int64_t top_k, int64_t prompt);
// G3, Eq. 2 as a share of all routed work of a prompt: that of Eq. 1. T_n of a token stands for the whole prompt, so
// (S - 1) T_a N, which counts all tokens, is left out.
double prefill_share(const NearMemoryTimes& times, int64_t top_k);

// G4, Eq. 3: T_g E_max = (TopK - E_max) T_n + (N + 1) T_a.
struct GpuExpertBound {
  double real = 0;
  int64_t used = 0;  // whole, from 1 to TopK
};
GpuExpertBound gpu_expert_bound(const NearMemoryTimes& times, int64_t top_k);

// G3 with the number of tokens at each expert, for prompts. An expert with n tokens takes the longer of reading its
// bytes and n times its operations.
struct NearMemoryRates {
  double expert_bytes = 0, expert_macs = 0;  // macs: multiply-adds for one token
  double gpu_bytes_per_second = 0, gpu_macs_per_second = 0;
  double unit_bytes_per_second = 0, unit_macs_per_second = 0;  // of one unit
  double gpu_seconds(int64_t tokens) const;
  double units_seconds(int64_t tokens, int64_t units) const;  // all units on one expert
};
struct CountedSplit {
  std::vector<int64_t> on_gpu;  // ids, by falling load
  double seconds = 0;           // until both sides have ended
};
// By falling load (of equals the lower id) the first m experts go to the GPU. They are moved back to back, T_w each,
// and computed as they arrive. The units compute the rest one after another, and move activations: (N + 1) T_a + (S -
// 1) N T_a. The least m of the least time. loads: tokens of each active expert, at least 1 each (Error otherwise).
CountedSplit split_by_counts(std::span<const int64_t> loads, const NearMemoryTimes& times, const NearMemoryRates& rates,
                             int64_t prompt);

}  // namespace tandem
