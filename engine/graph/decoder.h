// The decoder as a list of operators in the order of the computation. Which device runs what is not its business.
//
// Every matmul's input is written with `round_f16` where the numeric contract asks for f16 activations (--act f16), so
// that each device that takes part multiplies the same numbers. With --act i8 matmuls of integer weights say `act_i8`,
// and make those numbers themselves. The residual stream stays f32.
// In the last layer tokens without logits end in the cache: nothing reads what would follow.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/operator.h"
#include "engine/graph/activations.h"
#include "engine/model/weights.h"
#include "engine/tensor/activation.h"

namespace tandem {

struct Batch {
  int64_t S = 1;         // tokens of this pass
  int64_t outputs = 1;   // the last `outputs` of them get logits; 0: only the cache is filled
  int64_t segments = 1;  // most runs of tokens of one sequence; their begins and pages are in Activations
  bool trees = false;    // some of them may be tokens of trees of drafts, whose paths are there too
  bool operator==(const Batch&) const = default;
};

struct GraphOptions {
  bool round_f16 = false;
  bool act_i8 = false;       // products with integer weights are of 8-bit activations; a router's are not
  bool every_token = false;  // runs all tokens through the last layer too, as published figures count a model's work
};

constexpr GraphOptions graph_options(ActType act) {
  return {.round_f16 = act == ActType::f16, .act_i8 = act == ActType::i8};
}

// Reads ids and positions, appends to the caches, writes logits. Operators are named "blk.L.WHAT".
std::vector<Operator> build_decoder(const Model& model, const Activations& buffers, const Batch& batch,
                                    const GraphOptions& options);

}  // namespace tandem
