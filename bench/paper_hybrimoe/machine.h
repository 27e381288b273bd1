// The HybriMoE paper's machine and models, and what an expert costs there (Y1).
//
// Contract: plain values and pure functions; milliseconds. Everything is modelled. `printed` numbers are the paper's,
//   `authors` those of its public program (PKU-SEC-Lab/HybriMoE, commit 3bf7ea3), `public` those of data sheets.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "engine/moe/schedules/layer_experts.h"

namespace tandem::paper_hybrimoe {

enum class Mixture : uint8_t { mixtral, qwen2, deepseek };
inline constexpr std::array kMixtures{Mixture::mixtral, Mixture::qwen2, Mixture::deepseek};

struct MixtureSize {
  const char* name;
  int64_t layers, experts, used;  // of them with routed experts; E, k
  double expert_weights;          // millions, of one routed expert (public)
  double shared_weights;          // millions, of a layer's shared experts
  double other_weights;           // millions, of a layer's attention (public)
};
// Table II; Qwen2's experts are 2,560 wide, not the printed 18,944 (docs/hybrimoe.md).
const MixtureSize& size_of(Mixture model);

inline constexpr std::array<int, 3> kCachePercents{25, 50, 75};
inline constexpr std::array<int64_t, 4> kPrompts{32, 128, 512, 1024};
int64_t cached_experts(Mixture model, int percent);  // of a layer

// What the figures do not fix. The first two are fitted (calibrate.h), the others were set before any row was computed.
struct Machine {
  double cpu_expert_ms = 1.05798;           // calibrated by YF7: an expert of Qwen2 with one token, on 10 cores
  double link_bytes_per_second = 15.207e9;  // calibrated by YF3
  double cpu_token_ms = 0.02918;            // authors: of a DeepSeek expert; 0.59 TFLOPS
  double cpu_first_ms = 0.0755;             // authors, of a DeepSeek expert: size alone, Fig. 3(e) has the sign
  double gpu_expert_ms = 0.452;             // authors: launches; no model's bytes take longer
  double gpu_bytes_per_second = 768e9;      // public
  double gpu_flops = 77e12;                 // half of the public rate of fp16 tensor cores
  double gpu_layer_ms = 40.0 / 28;          // everything but routed experts: 40 ms of a Qwen2 token
  double gpu_shared_ms = 0.19;              // authors, of DeepSeek: the part of it that shared experts take
  double weight_bits = 4.5;                 // Q4_K_M's smallest
};

// The costs of a layer's routed experts (Y1). The GPU begins behind the shared experts (Y5).
ExpertCosts costs_of(const Machine& machine, Mixture model);
// Everything in a layer that stands before its experts, on the GPU.
double before_experts_ms(const Machine& machine, Mixture model, int64_t tokens);
// Y7, llama.cpp: a whole layer on the processor, with `loads` tokens at each active expert.
double processor_layer_ms(const Machine& machine, Mixture model, std::span<const int64_t> loads, int64_t tokens);

}  // namespace tandem::paper_hybrimoe
