// auto: follows the policy that has missed least lately. Each policy has a shadow: a cache of ids alone, with as many
// slots, that lives by its rule.
#include <algorithm>
#include <deque>

#include "engine/moe/expert_cache.h"
#include "engine/moe/policies/policies.h"

namespace tandem {
namespace {

constexpr MadePolicy (*kFollowed[])(const PolicySettings&, const LayerRequests&) = {make_mrs, make_ema, make_lru,
                                                                                    make_lfu};
// Each further token takes so much of the weight of earlier misses, so about 500 tokens decide.
constexpr double kKept = 0.998;

class AutoPolicy : public ExpertPolicy {
 public:
  AutoPolicy(const PolicySettings& settings, const LayerRequests& requests) {
    const int64_t slots = settings.slots > 0 ? settings.slots : slots_for(requests.experts, 25);
    for (const auto make : kFollowed)
      shadows_.emplace_back(make(settings, requests), requests.experts, slots, settings);
  }

  void begin() override {
    for (Shadow& shadow : shadows_) shadow.cache.begin(), shadow.misses = 0;
    best_ = 0;
  }
  // The first policy of those with equal misses is followed.
  void take_token(const TokenRequest& request) override {
    for (Shadow& shadow : shadows_) {
      const auto missed = static_cast<double>(std::ssize(request.ids) - shadow.cache.ask(request));
      shadow.misses = kKept * shadow.misses + missed;
    }
    const auto best = std::ranges::min_element(shadows_, {}, &Shadow::misses);
    best_ = static_cast<size_t>(best - shadows_.begin());
  }
  void take(const TokenRequest&, size_t) override {}  // the shadows have taken the whole token
  int32_t victim(std::span<const int32_t> experts) const override { return shadows_[best_].policy->victim(experts); }

 private:
  struct Shadow {
    Shadow(MadePolicy made, int64_t experts, int64_t slots, const PolicySettings& settings)
        : policy(std::move(made)), cache(experts, slots, *policy, Insertion::every_miss, settings.lookup) {}
    MadePolicy policy;
    ExpertCache cache;
    double misses = 0;
  };

  std::deque<Shadow> shadows_;  // caches borrow their policies
  size_t best_ = 0;
};

}  // namespace

MadePolicy make_auto(const PolicySettings& settings, const LayerRequests& requests) {
  return std::make_unique<AutoPolicy>(settings, requests);
}

}  // namespace tandem
