// Chooses tokens from logits. Every step is a function of its own that tests can call. Random numbers of a seed are the
// same on every machine.
#include "engine/run/serve/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/run/pass/not_finite.h"
#include "sync/error.h"

namespace tandem {
namespace {

// The first index of the largest logit, and whether all logits are finite.
struct Scan {
  int32_t choice = 0;  // 0 if no logit is a number
  bool is_finite = true;
};

// Finds both in one pass over the logits. Comparisons with NaN are false, so NaN never becomes the largest.
Scan scan(std::span<const float> logits) {
  TANDEM_CHECK(!logits.empty(), "no logits to choose from");
  constexpr size_t kLanes = 64;                 // so many that compilers use vectors
  std::array<float, kLanes> lanes, zeros = {};  // x * 0 is 0 where x is finite, and NaN elsewhere
  lanes.fill(-std::numeric_limits<float>::infinity());
  size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = logits[i + lane] > lanes[lane] ? logits[i + lane] : lanes[lane];
      zeros[lane] += logits[i + lane] * 0.0f;
    }
  }
  float largest = *std::ranges::max_element(lanes);
  for (; i < logits.size(); ++i) {
    largest = logits[i] > largest ? logits[i] : largest;
    zeros[0] += logits[i] * 0.0f;
  }
  const auto first = std::ranges::find(logits, largest);
  return {first == logits.end() ? 0 : static_cast<int32_t>(first - logits.begin()),
          std::ranges::all_of(zeros, [](float zero) { return zero == 0; })};
}

}  // namespace

Sampler::Sampler(const SamplerOptions& options) : options_(options), random_(options.seed) {}

// The last tokens, the prompt's too, are what the repeat penalty looks at.
void Sampler::accept(int32_t id) {
  recent_.push_back(id);
  while (static_cast<int>(recent_.size()) > options_.repeat_last) recent_.pop_front();
}

// Plain greedy sampling reads the logits where they are. All other options change a copy.
std::optional<int32_t> Sampler::sample(std::span<const float> logits, std::span<const uint64_t> allowed) {
  int32_t id = 0;
  if (plain_greedy() && allowed.empty()) {
    const auto choice = greedy_choice_of_finite(logits);
    if (!choice) return std::nullopt;
    id = *choice;
  } else {
    if (!all_finite(logits)) return std::nullopt;
    std::vector<float> adjusted(logits.begin(), logits.end());
    apply_bias(adjusted, options_.logit_bias);
    if (!allowed.empty()) exclude(adjusted, allowed);
    id = choose(std::move(adjusted));
  }
  if (counts_generated()) ++generated_[id];
  accept(id);
  return id;
}

// The filters run in this order: penalties, top k, temperature, top p, min p. Excluded tokens are no candidates.
int32_t Sampler::choose(std::vector<float> adjusted) {
  const std::vector<int32_t> recent(recent_.begin(), recent_.end());
  apply_repeat_penalty(adjusted, recent, options_.repeat_penalty);
  apply_count_penalties(adjusted, generated_, options_.presence_penalty, options_.frequency_penalty);
  if (options_.temperature <= 0) return greedy_choice(adjusted);
  std::vector<Candidate> candidates = keep_top_k(adjusted, options_.top_k);
  std::erase_if(candidates, [](const Candidate& c) { return c.logit == -std::numeric_limits<float>::infinity(); });
  to_probabilities(candidates, options_.temperature);
  keep_top_p(candidates, options_.top_p);
  keep_min_p(candidates, options_.min_p);
  // 53 random bits: the same draw on every machine, which std::uniform_real_distribution does not promise.
  return draw(candidates, static_cast<double>(random_() >> 11) * 0x1.0p-53);
}

int32_t greedy_choice(std::span<const float> logits) { return scan(logits).choice; }

std::optional<int32_t> greedy_choice_of_finite(std::span<const float> logits) {
  const Scan found = scan(logits);
  return found.is_finite ? std::optional(found.choice) : std::nullopt;
}

// A token is penalised once, however often it occurred. Positive logits are divided and negative ones multiplied, so
// both fall if the penalty is above 1.
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

// OpenAI's penalties count generated tokens alone: once for being there, and once for each time.
void apply_count_penalties(std::span<float> logits, const std::map<int32_t, int64_t>& counts, float presence,
                           float frequency) {
  for (const auto& [id, count] : counts)
    if (id >= 0 && id < std::ssize(logits))
      logits[static_cast<size_t>(id)] -= presence + static_cast<float>(count) * frequency;
}

void apply_bias(std::span<float> logits, std::span<const std::pair<int32_t, float>> bias) {
  for (const auto& [id, added] : bias)
    if (id >= 0 && id < std::ssize(logits)) logits[static_cast<size_t>(id)] += added;
}

// Words of bits that are all clear or all set are frequent.
void exclude(std::span<float> logits, std::span<const uint64_t> allowed) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  for (size_t begin = 0; begin < logits.size(); begin += 64) {
    const uint64_t bits = begin / 64 < allowed.size() ? allowed[begin / 64] : 0;
    const auto some = logits.subspan(begin, std::min<size_t>(64, logits.size() - begin));
    if (bits == ~uint64_t{0}) continue;
    for (size_t i = 0; i < some.size(); ++i)
      if (!(bits >> i & 1)) some[i] = kNever;
  }
}

// A heap of the k best candidates so far needs one comparison for most logits. With k = 0 all candidates are sorted.
std::vector<Candidate> keep_top_k(std::span<const float> logits, int k) {
  const size_t keep = k <= 0 ? logits.size() : std::min(logits.size(), static_cast<size_t>(k));
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  };
  std::vector<Candidate> best;  // for k > 0 a heap with the least likely one in front
  best.reserve(keep);
  for (size_t i = 0; i < logits.size(); ++i) {
    if (best.size() == keep) {
      if (!(logits[i] > best.front().logit)) continue;  // among equals the first ones stay
      std::ranges::pop_heap(best, better);
      best.pop_back();
    }
    best.push_back({static_cast<int32_t>(i), logits[i], 0});
    if (k > 0) std::ranges::push_heap(best, better);
  }
  std::ranges::sort(best, better);
  return best;
}

// Softmax. Candidates are sorted, so the first one has the largest logit. Subtracting it keeps exp() from overflowing.
void to_probabilities(std::vector<Candidate>& candidates, float temperature) {
  double sum = 0;
  for (Candidate& c : candidates) {
    const double e = std::exp((static_cast<double>(c.logit) - candidates.front().logit) / temperature);
    c.probability = static_cast<float>(e);
    sum += e;
  }
  for (Candidate& c : candidates) c.probability = static_cast<float>(c.probability / sum);
}

// The candidate with which the sum reaches p is kept too.
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

// Keeps candidates that are at least p times as likely as the most likely one.
void keep_min_p(std::vector<Candidate>& candidates, float p) {
  if (p <= 0 || candidates.empty()) return;
  const float least = p * candidates.front().probability;
  std::erase_if(candidates, [least](const Candidate& c) { return c.probability < least; });
}

// Draws by the inverse of the distribution. The probabilities lie one behind the other on a line, and the draw is a
// point on it. Candidates that were removed are missing from the line, so the point is scaled to its present length.
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
