// How the tokens of a prompt are divided when each part goes through all layers on processors of its own (H3 with whole
// layers), and from where on the one that ends early can help the other (H2).
//
// All functions are pure. Seconds are what the caller measured or modelled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/plan/partition/cut.h"

namespace tandem {

// Tokens of S that the second processor takes so that both end together, when it takes `seconds_second` for each of
// them and the first one `seconds_first` for each of the others: a multiple of limits.token_step below S that
// pre-compiled sizes add up to, or 0. Help at the end is not counted on: it pays for a rest, not for tokens in more and
// smaller graphs.
int64_t balanced_tokens(int64_t S, double seconds_first, double seconds_second, const CutLimits& limits);

// Of operators that the first processor runs in order, taking these seconds, the first one that begins when the second
// processor has nothing else to do any more; their number: none does.
size_t first_shared(std::span<const double> seconds_first, double seconds_second);

}  // namespace tandem
