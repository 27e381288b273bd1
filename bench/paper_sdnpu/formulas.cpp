#include "bench/paper_sdnpu/formulas.h"

#include <algorithm>

namespace tandem::paper_sdnpu {

// Decoding has a share of the NPU row. + G changes the prefill alone and + SD the decoding alone.
AblationParts parts_of(const Ablation& row, double decode_share) {
  AblationParts parts;
  parts.decode = decode_share * row.npu;
  parts.prefill = row.npu - parts.decode;
  parts.switched = row.graph - parts.decode;
  parts.drafts_decode = row.drafts - parts.prefill;
  return parts;
}

double decode_cut(const Ablation& row, const AblationParts& parts) {
  return parts.decode / (row.ours - parts.switched);
}

// With p the part's share, the part is p / (1 - p) of the rest.
double part_with_share(double other, double share) { return other * share / (1 - share); }

double lost_throughput(const PassLine& line, int64_t a, int64_t b) {
  const auto seconds_of_a_token = [&](int64_t tokens) { return line.seconds(tokens) / static_cast<double>(tokens); };
  return 1 - seconds_of_a_token(b) / seconds_of_a_token(a);
}

double draft_model_share(const PassSize& target) {
  return static_cast<double>(target.layer_weights + target.output_weights) / static_cast<double>(target.weights());
}

// A pass of EAGLE is its drafts, one after the other, and a pass of the target for all of them.
double eagle_ms(double target_ms, double draft_ms, int64_t steps, double tokens_of_a_pass) {
  return (target_ms + static_cast<double>(steps) * draft_ms) / tokens_of_a_pass;
}

MemoryBytes memory_of(const PassSize& size, int64_t block_layers, int64_t prompt_tokens) {
  constexpr double kOutputBytes = 4;
  const auto layer = static_cast<double>(size.layer_weights), output = static_cast<double>(size.output_weights);
  MemoryBytes bytes;
  bytes.npu = static_cast<double>(size.layers) * layer + 2 * kOutputBytes * output;
  bytes.ours = static_cast<double>(std::min(block_layers, size.layers)) * layer + successor_bytes(prompt_tokens);
  bytes.eagle = layer + kOutputBytes * output;
  return bytes;
}

double successor_bytes(int64_t prompt_tokens) {
  return static_cast<double>(prompt_tokens * kSuccessors * kSuccessorBytes);
}

}  // namespace tandem::paper_sdnpu
