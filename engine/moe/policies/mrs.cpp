// MRS, "minus recent score" (Y4): S <- alpha TopP(s) + (1 - alpha) S, and the least S leaves.
//
// TopP keeps the p largest of a token's scores over all experts; the others add 0. p = min(2k, E) unless the settings
// say otherwise. If a trace has the k weights alone, these are the scores.
#include <algorithm>
#include <cstdint>
#include <span>

#include "engine/moe/policies/policies.h"
#include "engine/moe/policies/recent_score.h"

namespace tandem {
namespace {

class MrsPolicy : public ExpertPolicy {
 public:
  MrsPolicy(const LayerRequests& requests, double alpha, int64_t top)
      : score_(requests.experts, alpha), top_(static_cast<int32_t>(std::min(top, requests.experts))) {}

  void begin() override { score_.clear(); }
  void take_token(const TokenRequest& request) override {
    score_.fade();
    request.scores.empty() ? add_weights(request) : add_scores(request.scores);
  }
  void take(const TokenRequest&, size_t) override {}
  int32_t victim(std::span<const int32_t> experts) const override { return score_.least(experts); }

 private:
  // The weights stand in falling order, so the first p are the largest.
  void add_weights(const TokenRequest& request) {
    for (size_t i = 0; i < std::min(static_cast<size_t>(top_), request.ids.size()); ++i)
      score_.add(request.ids[i], static_cast<double>(request.weights[i]));
  }

  // Among scores that equal the least one, the lower ids stay. There is seldom more than one, so all scores from it on
  // are added at once, without branches.
  void add_scores(std::span<const float> scores) {
    const float least = least_kept(scores);
    if (count_from(least, scores) == top_) return score_.add_from(least, scores);
    auto room = top_ - std::ranges::count_if(scores, [least](float score) { return score > least; });
    for (size_t expert = 0; expert < scores.size(); ++expert) {
      const bool is_kept = scores[expert] > least || (scores[expert] == least && room-- > 0);
      if (is_kept) score_.add(static_cast<int32_t>(expert), static_cast<double>(scores[expert]));
    }
  }

  static int32_t count_from(float least, std::span<const float> scores) {
    int32_t count = 0;
    for (const float score : scores) count += score >= least ? 1 : 0;
    return count;
  }

  // A number that divides the p largest scores from the others, or the p-th largest itself if others equal it. It
  // halves the range of scores and counts, which takes less time than keeping the largest in order, because counting
  // has no branches.
  float least_kept(std::span<const float> scores) const {
    auto [low, high] = std::ranges::minmax(scores);
    if (std::ssize(scores) <= top_) return low;
    if (count_from(high, scores) >= top_) return high;
    for (;;) {
      const float middle = low + (high - low) / 2;
      if (!(low < middle && middle < high)) return low;
      const int32_t count = count_from(middle, scores);
      if (count == top_) return middle;
      (count > top_ ? low : high) = middle;
    }
  }

  RecentScore score_;
  const int32_t top_;  // p
};

}  // namespace

MadePolicy make_mrs(const PolicySettings& settings, const LayerRequests& requests) {
  const int64_t top = settings.top > 0 ? settings.top : 2 * requests.used;
  return std::make_unique<MrsPolicy>(requests, settings.alpha, top);
}

}  // namespace tandem
