// A chip from the view of a text with drafts: passes of several tokens on its NPU, tokens on its CPU, and loading the
// graphs that the NPU needs for them (S1, S4, S7).
//
// Contract: plain values and pure functions; no thread or device is involved. Units: seconds, bytes, bytes per second;
// a multiplication and an addition count as two operations. Source: sd.npu, whose weights have 8 bits. A chip's profile
// states the source of each number (engine/plan/model_clock/profiles).
#pragma once

#include <cstdint>

#include "engine/model/config.h"
#include "engine/plan/graph_switch.h"

namespace tandem {

struct ChipPasses {
  double weight_bytes_per_second = 0;  // the part of a pass that its tokens share
  double flops = 0;                    // the part of each token
  // Sizes of the two graphs: chunks of a prompt, and drafts. A graph is loaded in blocks of whole layers.
  int64_t prefill_tokens = 0, decode_tokens = 0, block_layers = 0;
  double cpu_flops = 0;        // of a single token
  double cpu_token_share = 0;  // time of each further token of a pass on the CPU, over that of the first one

  bool operator==(const ChipPasses&) const = default;
};

// Weights that a pass multiplies, in elements. A tied output counts once.
struct PassSize {
  int64_t layers = 0, layer_weights = 0, output_weights = 0;
  int64_t weights() const { return layers * layer_weights + output_weights; }
};
PassSize pass_size(const ModelConfig& config);  // Error: a mixture of experts, or latent attention

// The affine time of a pass on the NPU: pass(L) = a + b L.
struct PassLine {
  double shared_seconds = 0, token_seconds = 0;  // a, b
  double seconds(int64_t tokens) const { return shared_seconds + token_seconds * static_cast<double>(tokens); }
};
PassLine pass_line(const ChipPasses& chip, const PassSize& size);
// The line through two passes. tokens_a differs from tokens_b.
PassLine line_through(int64_t tokens_a, double seconds_a, int64_t tokens_b, double seconds_b);

// A pass on the CPU, which has no graphs of fixed sizes: it lasts as long as its tokens ask for.
double cpu_pass_seconds(const ChipPasses& chip, const PassSize& size, double tokens);

// Loading a graph with all of its weights, of one byte each. bytes_per_second: npu.load_bytes_per_second.
double graph_load_seconds(const PassSize& size, double bytes_per_second);

// S1: the blocks of a prompt of whole chunks, in microseconds. The output matrix belongs to the last block. The decode
// graph runs as often as a chunk needs it. Error: the prefill graph is no multiple of the decode graph, or a block
// takes longer than a million seconds.
GraphSwitchTimes graph_switch_times(const ChipPasses& chip, const PassSize& size, const PassLine& line,
                                    double load_bytes_per_second, int64_t chunks);

}  // namespace tandem
