#include "engine/run/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sync/error.h"

namespace tandem {

Sampler::Sampler(const SamplerOptions& options) : options_(options), random_(options.seed) {}

void Sampler::accept(int32_t id) {
  recent_.push_back(id);
  while (static_cast<int>(recent_.size()) > options_.repeat_last) recent_.pop_front();
}

int32_t Sampler::sample(std::span<const float> logits) {
  int32_t id = 0;
  if (plain_greedy()) {
    id = greedy_choice(logits);
  } else {
    std::vector<float> adjusted(logits.begin(), logits.end());
    const std::vector<int32_t> recent(recent_.begin(), recent_.end());
    apply_repeat_penalty(adjusted, recent, options_.repeat_penalty);
    if (options_.temperature <= 0) {
      id = greedy_choice(adjusted);
    } else {
      std::vector<Candidate> candidates = keep_top_k(adjusted, options_.top_k);
      to_probabilities(candidates, options_.temperature);
      keep_top_p(candidates, options_.top_p);
      keep_min_p(candidates, options_.min_p);
      // 53 random bits: the same draw on every machine, which std::uniform_real_distribution does not promise.
      id = draw(candidates, static_cast<double>(random_() >> 11) * 0x1.0p-53);
    }
  }
  accept(id);
  return id;
}

int32_t greedy_choice(std::span<const float> logits) {
  TANDEM_CHECK(!logits.empty(), "no logits to choose from");
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

void apply_repeat_penalty(std::span<float> logits, std::span<const int32_t> recent, float penalty) {
  if (penalty == 1.0f) return;
  std::vector<int32_t> unique(recent.begin(), recent.end());
  std::sort(unique.begin(), unique.end());
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  for (int32_t id : unique) {
    if (id < 0 || id >= static_cast<int32_t>(logits.size())) continue;
    float& logit = logits[static_cast<size_t>(id)];
    logit = logit > 0 ? logit / penalty : logit * penalty;
  }
}

std::vector<Candidate> keep_top_k(std::span<const float> logits, int k) {
  std::vector<Candidate> all(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) all[i] = {static_cast<int32_t>(i), logits[i], 0};
  const size_t keep = k <= 0 ? all.size() : std::min(all.size(), static_cast<size_t>(k));
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  };
  std::partial_sort(all.begin(), all.begin() + static_cast<ptrdiff_t>(keep), all.end(), better);
  all.resize(keep);
  return all;
}

void to_probabilities(std::vector<Candidate>& candidates, float temperature) {
  double sum = 0;
  for (Candidate& c : candidates) {
    const double e = std::exp((static_cast<double>(c.logit) - candidates.front().logit) / temperature);
    c.probability = static_cast<float>(e);
    sum += e;
  }
  for (Candidate& c : candidates) c.probability = static_cast<float>(c.probability / sum);
}

// The shortest list of the likeliest candidates that have this mass together; the one that reaches it stays.
void keep_top_p(std::vector<Candidate>& candidates, float p) {
  if (p >= 1) return;
  double mass = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    mass += candidates[i].probability;
    if (mass >= p) {
      candidates.resize(i + 1);
      return;
    }
  }
}

void keep_min_p(std::vector<Candidate>& candidates, float p) {
  if (p <= 0 || candidates.empty()) return;
  const float least = p * candidates.front().probability;
  std::erase_if(candidates, [least](const Candidate& c) { return c.probability < least; });
}

// By the inverse of the distribution: the probabilities lie one behind the other on a line, and the draw is a point of
// it. What was left out of the candidates is missing from the line, so the point is scaled to the length that there is.
int32_t draw(std::span<const Candidate> candidates, double uniform) {
  TANDEM_CHECK(!candidates.empty(), "nothing left to draw from");
  double mass = 0;
  for (const Candidate& c : candidates) mass += c.probability;
  double left = uniform * mass;
  for (const Candidate& c : candidates) {
    left -= c.probability;
    if (left < 0) return c.id;
  }
  return candidates.back().id;
}

}  // namespace tandem
