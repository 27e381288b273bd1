#include "bench/paper_hybrimoe/expert_cache.h"

#include <algorithm>
#include <functional>

namespace tandem::paper_hybrimoe {

// Held experts begin with the lowest key, so the first inserts replace them.
ExpertCache::ExpertCache(CacheRule rule, int64_t experts, int64_t slots, const std::vector<int32_t>& held)
    : rule_(rule),
      held_(static_cast<size_t>(experts)),
      key_(static_cast<size_t>(experts)),
      free_(slots - std::ssize(held)) {
  for (const int32_t expert : held) held_[static_cast<size_t>(expert)] = true;
}

// Scores that are not among the kept ones count as zero, so an expert fades while no token wants it.
void ExpertCache::see(const std::vector<double>& scores, int64_t kept, const std::vector<int32_t>& asked) {
  constexpr double kAlpha = 0.5;
  clock_ += 1;
  if (rule_ == CacheRule::lru)
    for (const int32_t expert : asked) key_[static_cast<size_t>(expert)] = clock_;
  if (rule_ != CacheRule::mrs) return;
  std::vector<double> sorted = scores;
  std::ranges::nth_element(sorted, sorted.begin() + (kept - 1), std::greater<>());
  const double least = sorted[static_cast<size_t>(kept - 1)];
  for (size_t e = 0; e < key_.size(); ++e)
    key_[e] = kAlpha * (scores[e] >= least ? scores[e] : 0) + (1 - kAlpha) * key_[e];
}

void ExpertCache::insert(int32_t expert, const std::vector<int32_t>& stays) {
  if (rule_ == CacheRule::fixed || has(expert)) return;
  if (free_ > 0) {
    --free_;
    held_[static_cast<size_t>(expert)] = true;
    return;
  }
  int32_t victim = -1;
  for (int32_t e = 0; e < std::ssize(held_); ++e) {
    if (!has(e) || std::ranges::find(stays, e) != stays.end()) continue;
    if (victim < 0 || key_[static_cast<size_t>(e)] < key_[static_cast<size_t>(victim)]) victim = e;
  }
  if (victim < 0) return;  // the token needs all that are held
  held_[static_cast<size_t>(victim)] = false;
  held_[static_cast<size_t>(expert)] = true;
}

// Together, the whole token is looked up before anything enters. One by one, an expert may push out another
// of its token.
void look_up(ExpertCache& cache, const AskedExperts& asked, bool together, HitCount& count) {
  const bool whole = together || cache.rule() == CacheRule::mrs;
  if (whole) cache.see(asked.scores, asked.kept, asked.experts);
  if (together)
    for (const int32_t expert : asked.experts) count.hits += cache.has(expert);
  for (const int32_t expert : asked.experts) {
    if (!together) count.hits += cache.has(expert);
    if (!whole) cache.see(asked.scores, asked.kept, {expert});
    cache.insert(expert, together ? asked.experts : std::vector{expert});
  }
  count.requests += std::ssize(asked.experts);
}

}  // namespace tandem::paper_hybrimoe
