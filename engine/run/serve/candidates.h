// The choice of a token from one row of logits: the largest one, or a draw among candidates.
//
// Contract: pure functions. Logits are [vocabulary], at least one. Candidates are sorted by falling logit; of equals,
// the lowest id comes first.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tandem {

struct Candidate {
  int32_t id = 0;
  float logit = 0;
  float probability = 0;
};

int32_t greedy_choice(std::span<const float> logits);                           // the first one among equals
std::optional<int32_t> greedy_choice_of_finite(std::span<const float> logits);  // nothing: a logit is not finite
// The logarithm of the sum of exp(logit): a logit less this is the logarithm of its token's probability.
double log_sum_of_exp(std::span<const float> logits);
std::vector<Candidate> keep_top_k(std::span<const float> logits, int k);  // k <= 0: all
// sum: of exp((logit - largest) / temperature) over all tokens, if there are others than the candidates, which are less
// likely than the first one.
void to_probabilities(std::vector<Candidate>& candidates, float temperature, std::optional<double> sum = {});
// The filters behind top_k, and the draw.
struct Filters {
  float temperature = 1, top_p = 1, min_p = 0;
  double uniform = 0;  // the draw, in [0, 1)
};
// Draws from candidates by the chain temperature, top-p, min-p, draw. Tokens with logits of minus infinity are none.
// sum: as above. Without filters, others than the candidates count as behind them.
int32_t draw_filtered(std::vector<Candidate> candidates, const Filters& filters, std::optional<double> sum = {});
// The same for a whole vocabulary. It sorts only the likeliest tokens that the filters and the draw can reach.
int32_t draw_of_all(std::span<const float> logits, const Filters& filters);
// Keeps the shortest prefix whose probabilities sum to p or more, at least one candidate.
void keep_top_p(std::vector<Candidate>& candidates, float p);
// Keeps candidates with at least p times the probability of the best one.
void keep_min_p(std::vector<Candidate>& candidates, float p);
// uniform: in [0, 1). mass: the sum of all candidates' probabilities, if these are the first of them only.
int32_t draw(std::span<const Candidate> candidates, double uniform, std::optional<double> mass = {});

}  // namespace tandem
