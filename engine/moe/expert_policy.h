// Y4: a policy of an expert cache says which resident expert leaves. All policies are in one table; each is a file in
// the folder engine/moe/policies/.
//
// Contract: a policy is the state of one layer. It belongs to one thread. Everything is a pure function of the requests
// so far, and for the bounds (belady, bypass, static, half) of the requests that it was made with. Source: HybriMoE
// (arXiv:2504.05897), section IV.D; docs/hybrimoe.md has the rules.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "engine/moe/expert_requests.h"

namespace tandem {

// How a token's experts are looked up. together: hits are counted before anything changes, and the token's own experts
// stay. single: one after another by falling weight, so that one may throw out another.
enum class ExpertLookup { together, single };

struct PolicySettings {
  double alpha = 0.5;       // MRS
  double ema_alpha = 0.02;  // EMA
  int64_t top = 0;          // MRS: scores that are kept, p; 0: 2k
  int64_t slots = 0;        // auto: slots of its shadows; 0: a quarter of the experts
  ExpertLookup lookup = ExpertLookup::together;
};

class ExpertPolicy {
 public:
  virtual ~ExpertPolicy() = default;
  virtual void begin() = 0;  // everything as at first
  // A token comes. MRS and EMA take it in as a whole.
  virtual void take_token(const TokenRequest& request) = 0;
  // The token's expert of that rank is asked for. LRU, LFU and the bounds take in each expert.
  virtual void take(const TokenRequest& request, size_t rank) = 0;
  // The one of these experts that leaves first: that of the least key, of equals the lowest id. There is at least one.
  virtual int32_t victim(std::span<const int32_t> experts) const = 0;
};

enum class Insertion {
  every_miss,  // a miss is always inserted
  if_nearer,   // a miss may be the victim itself
  fixed        // those that would leave last are resident from the beginning, and nothing is inserted
};

struct PolicyKind {
  std::string_view name, explains;
  Insertion insertion = Insertion::every_miss;
  bool knows_future = false;  // a bound, not a policy for an engine
  bool second_half = false;   // judged on the second half of the requests alone
  std::unique_ptr<ExpertPolicy> (*make)(const PolicySettings& settings, const LayerRequests& requests) = nullptr;
};

std::span<const PolicyKind> expert_policies();
const PolicyKind* expert_policy(std::string_view name);  // nullptr: there is none of that name

// The expert of the least key, of equals the lowest id.
template <typename Key>
int32_t of_least_key(std::span<const int32_t> experts, const Key& key) {
  int32_t least = experts.front();
  auto least_key = key(least);
  for (const int32_t expert : experts.subspan(1)) {
    const auto own = key(expert);
    if (own < least_key || (own == least_key && expert < least)) least = expert, least_key = own;
  }
  return least;
}

}  // namespace tandem
