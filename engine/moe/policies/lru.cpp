// LRU, a baseline of Y4: the expert leaves whose last request is longest ago.
#include <algorithm>
#include <vector>

#include "engine/moe/policies/policies.h"

namespace tandem {
namespace {

class LruPolicy : public ExpertPolicy {
 public:
  LruPolicy(int64_t experts, ExpertLookup lookup) : lookup_(lookup), last_(static_cast<size_t>(experts), -1) {}

  void begin() override { std::ranges::fill(last_, -1); }
  void take_token(const TokenRequest&) override {}
  void take(const TokenRequest& request, size_t rank) override {
    last_[static_cast<size_t>(request.ids[rank])] = time_of(request, rank, lookup_);
  }
  int32_t victim(std::span<const int32_t> experts) const override {
    return of_least_key(experts, [&](int32_t expert) { return last_[static_cast<size_t>(expert)]; });
  }

 private:
  const ExpertLookup lookup_;
  std::vector<int64_t> last_;  // [E], the time of the last request
};

}  // namespace

MadePolicy make_lru(const PolicySettings& settings, const LayerRequests& requests) {
  return std::make_unique<LruPolicy>(requests.experts, settings.lookup);
}

}  // namespace tandem
