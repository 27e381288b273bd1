// The arithmetic of the sd.npu model. Times are milliseconds; "of an output token" is a whole run's time divided by the
// tokens that it writes.
//
// Contract: pure functions.
#pragma once

#include <cstdint>

#include "bench/paper_sdnpu/printed.h"
#include "engine/plan/model_clock/chip_passes.h"

namespace tandem::paper_sdnpu {

// A run's time of an output token.
struct TokenTime {
  double prefill = 0;  // with loads that nothing hides
  double decode = 0;
  double total() const { return prefill + decode; }
};

// A row of Table 3 in parts (SF40 to SF42): ms = (prefill and exposed load) + pass / tokens of a pass.
// + G changes the first part alone, and + SD the second, since the printed differences add up.
struct AblationParts {
  double decode = 0;                                        // NPU
  double prefill = 0;                                       // NPU
  double switched = 0;                                      // prefill with + G
  double drafts_decode = 0;                                 // decode with + SD
  double both() const { return switched + drafts_decode; }  // the model of + G + SD
};
AblationParts parts_of(const Ablation& row, double decode_share);

// SF44: how much less the decoding of "ours" takes, if its prefill is that of + G.
double decode_cut(const Ablation& row, const AblationParts& parts);

// SF1: the part of a run that has `share` of it, beside a part that takes `other`.
double part_with_share(double other, double share);

// SF11: how much lower the throughput of passes with a tokens is than that of passes with b.
double lost_throughput(const PassLine& line, int64_t a, int64_t b);

// S7: EAGLE, simulated as in the paper. Its draft model is one layer and the output matrix. `steps` drafts are made one
// after the other, and a pass of the target verifies them.
double draft_model_share(const PassSize& target);  // of the weights
double eagle_ms(double target_ms, double draft_ms, int64_t steps, double tokens_of_a_pass);

// SF50, SF51: bytes. Layers have one byte for each weight; the output matrix has four, in two copies, one of which is
// the embedding. Both widths were read from SF50.
struct MemoryBytes {
  double npu = 0;    // NPU vanilla
  double ours = 0;   // more than that: the largest block while it loads, and successors of prompt tokens (S2)
  double eagle = 0;  // more than NPU vanilla: one layer and an output matrix
};
MemoryBytes memory_of(const PassSize& size, int64_t block_layers, int64_t prompt_tokens);
// SF18: the successors of each prompt token, each with an id, a place and a chance. Trees are walked, not stored.
double successor_bytes(int64_t prompt_tokens);
inline constexpr int64_t kSuccessors = 3, kSuccessorBytes = 12;

}  // namespace tandem::paper_sdnpu
