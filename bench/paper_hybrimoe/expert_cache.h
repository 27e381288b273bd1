// The experts of one layer that the paper's engines hold on the GPU: a fixed set, LRU (AdapMoE), or MRS (Y4).
//
// Contract: a value, for one thread. MRS: S = a TopP(s) + (1 - a) S with a = 0.5; the lowest S goes, of equals the
//   lowest id. Experts of the token in flight stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::paper_hybrimoe {

enum class CacheRule : uint8_t { fixed, lru, mrs };

class ExpertCache {
 public:
  // held: at most `slots` experts.
  ExpertCache(CacheRule rule, int64_t experts, int64_t slots, const std::vector<int32_t>& held);

  CacheRule rule() const { return rule_; }
  bool has(int32_t expert) const { return held_[static_cast<size_t>(expert)]; }
  // A token: its scores after the softmax, how many of them count, and the experts that it asks for.
  void see(const std::vector<double>& scores, int64_t kept, const std::vector<int32_t>& asked);
  // Takes an expert in, in a free slot or in place of another one that is not in `stays`. A fixed set changes nothing.
  void insert(int32_t expert, const std::vector<int32_t>& stays);

 private:
  CacheRule rule_;
  std::vector<char> held_;
  std::vector<double> key_;
  double clock_ = 0;
  int64_t free_ = 0;  // slots
};

struct HitCount {
  int64_t hits = 0, requests = 0;
  double rate() const { return static_cast<double>(hits) / static_cast<double>(requests); }
};

struct AskedExperts {
  const std::vector<double>& scores;  // [E], of which `kept` count
  int64_t kept;
  const std::vector<int32_t>& experts;  // by falling weight
};
// A token asks for its experts, all at once or one after the other, and what was missed is inserted. One by one, LRU
// may throw out experts of the same token; MRS has seen the whole token before.
void look_up(ExpertCache& cache, const AskedExperts& asked, bool together, HitCount& count);

}  // namespace tandem::paper_hybrimoe
