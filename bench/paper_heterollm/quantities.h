// The quantities that rows compare and that calibration fits, all from the model clock.
#pragma once

#include "bench/paper_heterollm/lab.h"

namespace tandem::paper_heterollm {

// The plans that correspond to the paper's names.
inline constexpr const char* kPpl = "gpu-only";   // PPL-OpenCL, which HeteroLLM extends
inline constexpr const char* kLayer = "layer";    // Hetero-layer
inline constexpr const char* kTensor = "tensor";  // Hetero-tensor

// H13: operations per second of one matmul, K x N weights, S tokens.
double gpu_rate(const Lab& lab, int64_t S, int64_t K, int64_t N);
double npu_seconds(const Lab& lab, int64_t S, int64_t K, int64_t N);
double npu_rate(const Lab& lab, int64_t S, int64_t K, int64_t N);           // weights stream (H1)
double npu_rate_reversed(const Lab& lab, int64_t S, int64_t K, int64_t N);  // weights stationary
double best_npu_rate(const Lab& lab);  // over tokens and sides in powers of 2, up to 1024 and 16384

// The share of FFN-down in the time of the matmuls and of everything else.
double ffn_down_share(const ModelRun& run);

// The seconds of `slower` divided by those of `faster`.
double speed_up(Lab& lab, const Setting& faster, const Setting& slower);
Setting with(Setting setting, SyncCost sync);
Setting beside_game(Setting setting);
Setting with_int8(Setting setting);

// Another engine, as one prefill rate and one decode bandwidth (from the paper's numbers of Llama-8B).
struct PeerEngine {
  double flops = 0, bytes_per_second = 0;
};
double prefill_speed(const PeerEngine& engine, const char* model);  // tokens a second
double decode_speed(const PeerEngine& engine, const char* model);
PeerEngine mnn();
PeerEngine llama_cpp();
PeerEngine mlc();

// Speeds that follow from the paper's own printed ratios.
inline constexpr double kTensorSpeed256 = 236.92;                                   // HF42, Llama-8B, 256 tokens
inline constexpr double kLayerSpeed256 = kTensorSpeed256 / 1.244;                   // HF52: 190.5
inline constexpr double kPplSpeed256 = kLayerSpeed256 / 2.99;                       // HF17: 63.7
inline constexpr double kTensorSpeed1024 = 247.9;                                   // HF24
inline constexpr double kLayerSpeed1024 = kTensorSpeed1024 * 25.1 / 34.5;           // HF20, HF22: 180.4
inline constexpr double kOnlineComputing135 = 0.4084 / 0.346 - 0.4084;              // HF31: 0.772 s
inline constexpr double kTensorDecode = 14.01, kPplDecode = kTensorDecode / 1.234;  // HF36, HF39: 11.35
inline constexpr double kLayerWatts = 2.23, kTensorWatts = kLayerWatts * 1.232;     // HF50, HF51: 2.75
inline constexpr double kPplWatts = kTensorWatts / (1 - 0.367);                     // HF51: 4.34

}  // namespace tandem::paper_heterollm
