// N2: static capacity tiers. An NPU runs graphs of fixed shapes, so each expert has room for a fixed number of a
// chunk's tokens. There are three sizes, and the expected number of tokens decides which one an expert gets.
//
// Contract: pure functions. The paper leaves the boundaries open. The defaults here come from its notes, and each
// is an option.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/types.h"

namespace tandem {

// Tokens of the three tiers, largest first. Each is a multiple of the mean load, rounded up to a multiple of `step`. No
// tier is larger than the chunk rounded up.
std::array<int64_t, 3> tier_capacities(int64_t E, int64_t k, int64_t B, const TierOptions& options);

// The capacity of each expert, from its expected load. Loads above the largest tier get the largest tier.
std::vector<int64_t> expert_capacities(std::span<const double> expected_loads, int64_t k, int64_t B,
                                       const TierOptions& options);

}  // namespace tandem
