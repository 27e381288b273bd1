// Tokens that a pass appends to sequences, and the runs of tokens that the pass consists of.
//
// Contract: plain values and pure functions. Ids, parents and sequences are borrowed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/activations.h"
#include "tandem/sequence.h"

namespace tandem {

// The tokens of one pass: first the tokens of all extensions that get no logits, then those that get logits.
struct PassTokens {
  std::vector<TokenRun> runs;  // their pages are those of the sequences
  std::vector<int32_t> ids;
  int64_t logit_rows = 0, position = 0;  // position: the largest one at which a run begins
};
PassTokens tokens_of_pass(std::span<const Extension> extensions);

// The number of segments that a plan is made for: a power of two, so that a few plans serve every number of runs. A
// sequence has two runs in a batch if only a part of its tokens gets logits: tokens with logits come last in a batch.
int64_t segment_class(int64_t runs);

// The limits of one pass of an engine.
struct PassLimits {
  int64_t sequences = 0, tokens = 0, logit_rows = 0, segments = 0;
  int64_t vocabulary = 0, context = 0, tree_depth = 0;  // tree_depth: 0: the pass may have no trees
};
// Error if there are no tokens, if one is not in the vocabulary, or if the context has no room for them behind
// `position` tokens.
void check_ids(std::span<const int32_t> ids, int64_t position, int64_t vocabulary, int64_t context);
// Checks all extensions of a pass, and changes nothing. Errors are those of Engine::extend().
void check_extensions(std::span<const Extension> extensions, const PassLimits& limits);

}  // namespace tandem
