// Builds the decoder as a list of operators, in the order of the computation. It does not decide which
// device runs what.
//
// With --act f16 every matmul's input is written with `round_f16`, so that all devices multiply the same numbers. With
// --act i8 matmuls of integer weights have `act_i8` and quantise their input themselves. The residual stream stays f32.
// In the last layer tokens without logits end once they are in the cache, because nothing reads their results. If their
// routing is wanted (ActivationSizes::routes_every_token), they end behind the router.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/device/operator.h"
#include "engine/graph/activations.h"
#include "engine/model/weights.h"
#include "engine/tensor/activation.h"

namespace tandem {

struct Batch {
  int64_t S = 1;           // tokens of this pass
  int64_t logit_rows = 1;  // the last `logit_rows` of them get logits; 0: only the cache is filled
  int64_t segments = 1;    // most runs of tokens of one sequence; Activations has their begins and pages
  bool trees = false;      // tokens may belong to trees of drafts; Activations has their paths
  bool link = true;        // plans with lanes of experts may hand copies to the link
  // The plan that divides the experts of this pass between lanes, if `auto` chooses among several; empty: it does not.
  std::string_view lanes{};  // a name that outlives the batch
  int64_t prefetch = 0;      // Y3: layers guess the experts of so many later ones, and the link copies those ahead
  size_t logits = 0;         // which buffer of Activations::logits gets them
  bool operator==(const Batch&) const = default;
};

struct GraphOptions {
  bool round_f16 = false;
  bool act_i8 = false;       // products with integer weights use 8-bit activations, except for routers
  bool every_token = false;  // runs all tokens through the last layer too; published figures count a model's work so
};

constexpr GraphOptions graph_options(ActType act) {
  return {.round_f16 = act == ActType::f16, .act_i8 = act == ActType::i8};
}

// Reads ids and positions, appends to the caches, writes logits. Operators are named "blk.L.WHAT".
std::vector<Operator> build_decoder(const Model& model, const Activations& buffers, const Batch& batch,
                                    const GraphOptions& options);

}  // namespace tandem
