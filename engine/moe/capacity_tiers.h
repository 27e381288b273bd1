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

namespace tandem {

enum class TierRule : uint8_t {
  quartile,  // the most popular quarter of the experts has the largest tier; others the smaller of the two that cover
  covering,  // the smallest tier that covers the expected load
};

struct TierOptions {
  // Tiers as multiples of the mean load k * B / E, largest first. At k = 2 these are the paper's 4, 2 and 1
  // times B / E.
  std::array<double, 3> multiples{2, 1, 0.5};
  TierRule rule = TierRule::quartile;
  double popular_share = 0.25;  // only for rule `quartile`
  int64_t step = 16;            // N8: capacities are multiples of it
};

// Tokens of the three tiers, largest first. Each is a multiple of the mean load, rounded up to a multiple of `step`. No
// tier is larger than the chunk rounded up.
std::array<int64_t, 3> tier_capacities(int64_t E, int64_t k, int64_t B, const TierOptions& options);

// The capacity of each expert, from its expected load. Loads above the largest tier get the largest tier.
std::vector<int64_t> expert_capacities(std::span<const double> expected_loads, int64_t k, int64_t B,
                                       const TierOptions& options);

}  // namespace tandem
