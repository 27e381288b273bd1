// Question: what does a pass take by the number of its drafts (M4's T), as a chain and as a tree?
#pragma once

#include <cstdint>

#include "engine/run/engine.h"

namespace tandem::bench {

// Prints medians. depth: tokens before the pass. The logits of each pass are first compared with those of single
// tokens, bit by bit. Returns the exit status.
int time_draft_passes(Engine& engine, int64_t depth, int rounds);

}  // namespace tandem::bench
