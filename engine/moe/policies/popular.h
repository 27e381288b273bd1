// What `static` and `half` share: experts leave by how often some tokens ask for them, of equals the higher id first.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/moe/expert_policy.h"

namespace tandem {

class PopularPolicy : public ExpertPolicy {
 public:
  // Counts the requests of the first `tokens` tokens.
  PopularPolicy(const LayerRequests& requests, int64_t tokens) : counts_(static_cast<size_t>(requests.experts)) {
    const auto counted = static_cast<size_t>(tokens * requests.used);
    for (const int32_t expert : std::span(requests.ids).first(counted)) ++counts_[static_cast<size_t>(expert)];
  }

  void begin() override {}
  void take_token(const TokenRequest&) override {}
  void take(const TokenRequest&, size_t) override {}
  // Among equals the lower ids stay, so the id is a part of the key.
  int32_t victim(std::span<const int32_t> experts) const override {
    return of_least_key(experts,
                        [&](int32_t expert) { return std::pair(counts_[static_cast<size_t>(expert)], -expert); });
  }

 private:
  std::vector<int64_t> counts_;  // [E]
};

}  // namespace tandem
