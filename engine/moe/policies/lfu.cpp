// LFU, a baseline of Y4: the expert leaves that was asked for least often, of equals the one whose last request is
// longest ago. An expert's count stays when it leaves.
#include <algorithm>
#include <utility>
#include <vector>

#include "engine/moe/policies/policies.h"

namespace tandem {
namespace {

class LfuPolicy : public ExpertPolicy {
 public:
  LfuPolicy(int64_t experts, ExpertLookup lookup) : lookup_(lookup), uses_(static_cast<size_t>(experts), kNever) {}

  void begin() override { std::ranges::fill(uses_, kNever); }
  void take_token(const TokenRequest&) override {}
  void take(const TokenRequest& request, size_t rank) override {
    auto& [count, last] = uses_[static_cast<size_t>(request.ids[rank])];
    ++count;
    last = time_of(request, rank, lookup_);
  }
  int32_t victim(std::span<const int32_t> experts) const override {
    return of_least_key(experts, [&](int32_t expert) { return uses_[static_cast<size_t>(expert)]; });
  }

 private:
  using Use = std::pair<int64_t, int64_t>;  // how often, and the time of the last request
  static constexpr Use kNever{0, -1};
  const ExpertLookup lookup_;
  std::vector<Use> uses_;  // [E]
};

}  // namespace

MadePolicy make_lfu(const PolicySettings& settings, const LayerRequests& requests) {
  return std::make_unique<LfuPolicy>(requests.experts, settings.lookup);
}

}  // namespace tandem
