// Belady's bound: the expert leaves whose next use is farthest. It knows the future, so no engine can have it. With
// Insertion::if_nearer it is `bypass`, the bound where a miss need not be inserted.
#include <algorithm>
#include <limits>
#include <vector>

#include "engine/moe/policies/policies.h"

namespace tandem {
namespace {

constexpr int64_t kNoUse = std::numeric_limits<int64_t>::max();

// For each request, when its expert is asked for next: a token, or a single request where they come one by one.
// From the last request to the first.
std::vector<int64_t> next_uses(const LayerRequests& requests, ExpertLookup lookup) {
  std::vector<int64_t> next(requests.ids.size()), seen(static_cast<size_t>(requests.experts), kNoUse);
  for (size_t i = next.size(); i-- > 0;) {
    int64_t& use = seen[static_cast<size_t>(requests.ids[i])];
    next[i] = use;
    use = static_cast<int64_t>(i) / (lookup == ExpertLookup::single ? 1 : requests.used);
  }
  return next;
}

class BeladyPolicy : public ExpertPolicy {
 public:
  BeladyPolicy(const LayerRequests& requests, ExpertLookup lookup)
      : next_uses_(next_uses(requests, lookup)), next_(static_cast<size_t>(requests.experts), kNoUse) {}

  void begin() override { std::ranges::fill(next_, kNoUse); }
  void take_token(const TokenRequest&) override {}
  void take(const TokenRequest& request, size_t rank) override {
    next_[static_cast<size_t>(request.ids[rank])] =
        next_uses_[static_cast<size_t>(request.token) * request.ids.size() + rank];
  }
  int32_t victim(std::span<const int32_t> experts) const override {
    return of_least_key(experts, [&](int32_t expert) { return -next_[static_cast<size_t>(expert)]; });
  }

 private:
  const std::vector<int64_t> next_uses_;  // [tokens, k]
  std::vector<int64_t> next_;             // [E], as seen from the last request
};

}  // namespace

MadePolicy make_belady(const PolicySettings& settings, const LayerRequests& requests) {
  return std::make_unique<BeladyPolicy>(requests, settings.lookup);
}

}  // namespace tandem
