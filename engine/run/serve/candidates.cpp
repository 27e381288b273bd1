// Every step is a function of its own that tests can call. Most vocabularies are long, so no step looks closely at all
// of their logits.
#include "engine/run/serve/candidates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/device/host/loops.h"
#include "sync/error.h"

namespace tandem {
namespace {

host::LogitScan scan(std::span<const float> logits) {
  TANDEM_CHECK(!logits.empty(), "no logits to choose from");
  return host::best_loops().scan_logits(logits.data(), std::ssize(logits));
}

// The index of the first of the largest logits. If none is above minus infinity, that of the first number.
int32_t first_largest(std::span<const float> logits, const host::LogitScan& found) {
  if (!std::isinf(found.largest)) return static_cast<int32_t>(found.first);
  const auto first = std::ranges::find(logits, found.largest);
  return first == logits.end() ? 0 : static_cast<int32_t>(first - logits.begin());
}

bool is_better(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

// The largest of so many logits; a multiple of the lanes of a vector.
constexpr size_t kBlock = 64;
float largest_of_block(const float* logits) {
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> lanes;
  std::copy_n(logits, kLanes, lanes.begin());
  for (size_t i = kLanes; i < kBlock; i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = logits[i + lane] > lanes[lane] ? logits[i + lane] : lanes[lane];
  return *std::ranges::max_element(lanes);
}

// Whether no other token can pass the filters or be drawn. Candidates are the most likely ones of all.
bool reach_far_enough(std::span<const Candidate> candidates, const Filters& filters) {
  double mass = 0;
  for (const Candidate& c : candidates) mass += c.probability;
  if (filters.top_p < 1 && mass >= filters.top_p) return true;
  if (filters.min_p > 0) return candidates.back().probability < filters.min_p * candidates.front().probability;
  return filters.top_p >= 1 && mass > filters.uniform;
}

// How many tokens there are at each distance of their logit from the largest one, in units of the temperature.
class Distances {
 public:
  Distances(std::span<const float> logits, float largest, float temperature)
      : logits_(logits), largest_(largest), temperature_(temperature) {
    for (const float logit : logits) {
      Level& level = levels_[level_of(logit)];
      ++level.tokens;
      level.distances += distance_of(logit);
    }
  }

  // Tokens of the levels up to the last one that the filters and the draw can reach. sum: of exp(-distance) of all.
  std::vector<Candidate> candidates(const Filters& filters, double sum) const {
    const size_t last = last_level(filters, sum);
    std::vector<Candidate> found;
    for (size_t i = 0; i < logits_.size(); ++i)
      if (level_of(logits_[i]) <= last) found.push_back({static_cast<int32_t>(i), logits_[i], 0});
    std::ranges::sort(found, is_better);
    return found;
  }

 private:
  struct Level {
    int64_t tokens = 0;
    double distances = 0;  // their sum
  };
  static constexpr size_t kLevels = 2560, kLevelsOfOne = 64;  // the last level has all distances from 40 on

  double distance_of(float logit) const { return (static_cast<double>(largest_) - logit) / temperature_; }
  size_t level_of(float logit) const {
    const double level = distance_of(logit) * kLevelsOfOne;
    return level < kLevels - 1 ? static_cast<size_t>(level) : kLevels - 1;
  }
  // exp() of the mean distance of tokens is at most their mean exp(), and less by at most 3 parts in 100,000. The
  // probabilities are rounded later, so the mass must be larger by more than that.
  size_t last_level(const Filters& filters, double sum) const {
    constexpr double kRounding = 1e-5;
    size_t last = kLevels - 1;
    if (filters.min_p > 0) last = level_of(static_cast<float>(largest_ + temperature_ * std::log(filters.min_p))) + 1;
    last = std::min(last, kLevels - 1);
    const double wanted = filters.top_p < 1 ? filters.top_p : filters.min_p > 0 ? 1 : filters.uniform;
    double mass = 0;
    for (size_t at = 0; at < last; ++at) {
      const auto tokens = static_cast<double>(levels_[at].tokens);
      if (tokens > 0) mass += tokens * std::exp(-levels_[at].distances / tokens) / sum;
      if (mass > wanted + kRounding) return at;
    }
    return last;
  }

  const std::span<const float> logits_;
  const float largest_;
  const double temperature_;
  std::array<Level, kLevels> levels_ = {};
};

}  // namespace

int32_t greedy_choice(std::span<const float> logits) { return first_largest(logits, scan(logits)); }

std::optional<int32_t> greedy_choice_of_finite(std::span<const float> logits) {
  const host::LogitScan found = scan(logits);
  return found.is_finite ? std::optional(static_cast<int32_t>(found.first)) : std::nullopt;
}

// Subtracting the largest logit keeps exp() from overflowing.
double log_sum_of_exp(std::span<const float> logits) {
  const float largest = scan(logits).largest;
  return largest + std::log(host::best_loops().sum_of_exp(logits.data(), std::ssize(logits), largest, 1));
}

// A heap of the k best candidates so far needs no look at a block whose largest logit is too small. With k = 0 all
// candidates are sorted.
std::vector<Candidate> keep_top_k(std::span<const float> logits, int k) {
  const size_t keep = k <= 0 ? logits.size() : std::min(logits.size(), static_cast<size_t>(k));
  std::vector<Candidate> best;  // where some are left out, a heap with the least likely one in front
  best.reserve(keep);
  for (size_t i = 0; i < keep; ++i) best.push_back({static_cast<int32_t>(i), logits[i], 0});
  if (keep < logits.size()) std::ranges::make_heap(best, is_better);
  for (size_t i = keep; i < logits.size();) {
    if (i % kBlock == 0 && i + kBlock <= logits.size() && !(largest_of_block(&logits[i]) > best.front().logit)) {
      i += kBlock;
      continue;
    }
    const size_t end = std::min(logits.size(), (i / kBlock + 1) * kBlock);
    for (; i < end; ++i) {
      if (!(logits[i] > best.front().logit)) continue;  // among equals the first ones stay
      std::ranges::pop_heap(best, is_better);
      best.back() = {static_cast<int32_t>(i), logits[i], 0};
      std::ranges::push_heap(best, is_better);
    }
  }
  std::ranges::sort(best, is_better);
  return best;
}

// Softmax. Candidates are sorted, so the first one has the largest logit. Subtracting it keeps exp() from overflowing.
void to_probabilities(std::vector<Candidate>& candidates, float temperature, std::optional<double> sum) {
  double total = 0;
  for (Candidate& c : candidates) {
    const double e = std::exp((static_cast<double>(c.logit) - candidates.front().logit) / temperature);
    c.probability = static_cast<float>(e);
    total += e;
  }
  for (Candidate& c : candidates) c.probability = static_cast<float>(c.probability / sum.value_or(total));
}

int32_t draw_filtered(std::vector<Candidate> candidates, const Filters& filters, std::optional<double> sum) {
  std::erase_if(candidates, [](const Candidate& c) { return c.logit == -std::numeric_limits<float>::infinity(); });
  to_probabilities(candidates, filters.temperature, sum);
  keep_top_p(candidates, filters.top_p);
  keep_min_p(candidates, filters.min_p);
  const bool has_others = sum && filters.top_p >= 1 && filters.min_p <= 0;
  return draw(candidates, filters.uniform, has_others ? std::optional(1.0) : std::nullopt);
}

// The likeliest tokens have nearly all of the mass, so it is seldom that more than the first ones are needed.
int32_t draw_of_all(std::span<const float> logits, const Filters& filters) {
  constexpr int kFirst = 256;
  std::vector<Candidate> candidates = keep_top_k(logits, kFirst);
  const float largest = candidates.front().logit;
  const float factor = std::min(1 / filters.temperature, std::numeric_limits<float>::max());
  const double sum = host::best_loops().sum_of_exp(logits.data(), std::ssize(logits), largest, factor);
  to_probabilities(candidates, filters.temperature, sum);
  if (!reach_far_enough(candidates, filters))
    candidates = Distances(logits, largest, filters.temperature).candidates(filters, sum);
  return draw_filtered(std::move(candidates), filters, sum);
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
int32_t draw(std::span<const Candidate> candidates, double uniform, std::optional<double> mass) {
  TANDEM_CHECK(!candidates.empty(), "nothing left to draw from");
  double sum = 0;
  for (const Candidate& c : candidates) sum += c.probability;
  double left = uniform * mass.value_or(sum);
  for (const Candidate& c : candidates) {
    left -= c.probability;
    if (left < 0) return c.id;
  }
  return candidates.back().id;
}

}  // namespace tandem
