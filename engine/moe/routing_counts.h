// N1: how often each expert is chosen, and statistics of these counts.
//
// Contract: plain values and pure functions. Counts are of choices: a token with k experts counts k times. Source:
// NPUMoE (arXiv:2604.18788), section 4.1. Names as in its notes: E experts, k of a token, B tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tandem {

// Counts of one layer: [E].
using ExpertCounts = std::vector<int64_t>;

struct RoutingCounts {
  int64_t experts = 0, used = 0;     // E, k
  int64_t tokens = 0;                // counted tokens, in each layer
  std::vector<int64_t> layers;       // the model's numbers of the layers that have experts
  std::vector<ExpertCounts> counts;  // in the order of `layers`
  bool operator==(const RoutingCounts&) const = default;
};

RoutingCounts empty_counts(int64_t experts, int64_t used, std::vector<int64_t> layers);
// Counts ids, int32 [tokens, k], of the layer at index `at` of `layers`. Error: an id that is no expert. The caller
// counts the tokens, once for all layers.
void count_choices(RoutingCounts& counts, size_t at, std::span<const int32_t> ids);
// Error, which names `of`, unless the counts are of k of E experts.
void require_experts(const RoutingCounts& counts, int64_t E, int64_t k, const std::string& of);
RoutingCounts sum_of(const RoutingCounts& a, const RoutingCounts& b);  // Error unless both are of one model

// N1: r_l, the busiest expert's load divided by the mean load; 1 is perfectly even. 0 without counts.
double imbalance(std::span<const int64_t> counts);
// The experts by falling count; among equals, the lowest index first.
std::vector<int64_t> by_popularity(std::span<const int64_t> counts);
// N1, Overlap@K: share of the K most popular experts of one count that are among the K of the other.
double overlap(std::span<const int64_t> a, std::span<const int64_t> b, int64_t K);
// N1: how well a calibration predicts unseen prompts. The median over the layers of the mean over the prompts of
// Overlap@K. 0 without prompts.
double overlap_on(const RoutingCounts& calibration, std::span<const RoutingCounts> prompts, int64_t K);
// N2: tokens of a chunk of B expected at an expert that `count` of `tokens` tokens chose.
double expected_load(int64_t count, int64_t tokens, int64_t B);

}  // namespace tandem
