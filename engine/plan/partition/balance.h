// Divides the tokens of a prompt between two sides, each of which takes its tokens through all layers (H3 with whole
// layers). Also finds the operator from which on the second side can help the first one (H2).
//
// Contract: pure functions. Seconds come from the caller, either estimated for this machine or modelled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/plan/partition/cut.h"

namespace tandem {

// The number of tokens for the second side, so that both sides end at about the same time. seconds_first,
// seconds_second: the time of each side for one token. The result is a multiple of limits.token_step below S that
// pre-compiled sizes add up to, or 0. It does not count on help at the end. Help pays for a rest, but not for tokens in
// more and smaller graphs.
int64_t balanced_tokens(int64_t S, double seconds_first, double seconds_second, const CutLimits& limits);

// The index of the first side's first operator that begins after the second side has ended its own work. seconds_first:
// the time of each operator of the first side, in order. seconds_second: the time of the second side's work. The number
// of operators: none begins so late.
size_t first_shared(std::span<const double> seconds_first, double seconds_second);

}  // namespace tandem
