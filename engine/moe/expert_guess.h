// Y3: how often experts that are guessed some layers ahead are those that are chosen.
//
// Contract: pure functions. Source: HybriMoE (arXiv:2504.05897), section IV.C: later layers' routers read the present
// residual stream.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem {

// Of guesses so many layers ahead: chosen experts that were guessed, of all chosen ones.
struct GuessHits {
  int64_t hits = 0, of = 0;
};

// The k experts with the best scores, of equals the lower id first, ascending by id.
std::vector<int32_t> best_experts(std::span<const float> scores, int64_t k);
// Adds one token's guess: scores of all E experts, and the k ids that were chosen.
void add_guess(GuessHits& hits, std::span<const float> scores, std::span<const int32_t> chosen);

// The softmax over a layer's E scores, in double precision.
std::vector<float> softmax_of(std::span<const float> scores);

}  // namespace tandem
