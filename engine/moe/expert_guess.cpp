// Guesses which experts a token will choose from their scores, and counts how often the guess is right (Y3).
#include "engine/moe/expert_guess.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tandem {

// The lower id wins among equal scores. The result is sorted by id, because choices are compared as sets.
std::vector<int32_t> best_experts(std::span<const float> scores, int64_t k) {
  std::vector<int32_t> experts(scores.size());
  std::iota(experts.begin(), experts.end(), 0);
  const auto score = [&](int32_t expert) { return scores[static_cast<size_t>(expert)]; };
  std::ranges::partial_sort(experts, experts.begin() + k,
                            [&](int32_t a, int32_t b) { return score(a) != score(b) ? score(a) > score(b) : a < b; });
  experts.resize(static_cast<size_t>(k));
  std::ranges::sort(experts);
  return experts;
}

// A token counts k choices. Each that is among the k guessed ones is a hit, whatever the order.
void add_guess(GuessHits& hits, std::span<const float> scores, std::span<const int32_t> chosen) {
  const std::vector<int32_t> guess = best_experts(scores, std::ssize(chosen));
  hits.hits += std::ranges::count_if(chosen, [&](int32_t id) { return std::ranges::binary_search(guess, id); });
  hits.of += std::ssize(chosen);
}

// The largest score is subtracted first, so that no power overflows.
std::vector<float> softmax_of(std::span<const float> scores) {
  const auto largest = static_cast<double>(*std::ranges::max_element(scores));
  std::vector<double> powers;
  for (const float score : scores) powers.push_back(std::exp(static_cast<double>(score) - largest));
  const double sum = std::reduce(powers.begin(), powers.end());
  std::vector<float> shares;
  for (const double power : powers) shares.push_back(static_cast<float>(power / sum));
  return shares;
}

}  // namespace tandem
