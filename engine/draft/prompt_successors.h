// S2: drafts in the model's own words. The prompt's logits say what the model would write behind each token there. It
// may write the same behind the same token later.
//
// Each place of the prompt has successors: the most likely next tokens by its logits, the best one first. A successor
// is looked up at the nearest later place that has this token, else at the first one. That place's successors follow.
// So a tree of likely texts lies behind each place. The tree ends kCalibratedDepth tokens deep, at a token that the
// prompt does not have, or where a token is too unlikely.
//
// Contract: one object for each text, used by one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace tandem {

inline constexpr int kSuccessors = 3;
inline constexpr int64_t kCalibratedDepth = 8;
using Successors = std::array<int32_t, kSuccessors>;  // token ids, falling logit, of equals the lower id; -1: none

class PromptSuccessors {
 public:
  // The next places of the prompt, in order.
  void add(std::span<const int32_t> tokens, std::span<const Successors> successors);
  bool empty() const { return tokens_.empty(); }
  bool has_place(int64_t place) const { return place < std::ssize(tokens_); }
  int64_t last_place_of(int32_t token) const;  // -1: the prompt does not have it

  // The chance of the successor of this rank, so many tokens behind the place. 0: too unlikely.
  using Chance = std::function<double(int64_t depth, int rank)>;
  struct Path {
    std::vector<int32_t> tokens;
    std::vector<double> chances;
    std::vector<int> ranks;
    int64_t shared = 0;  // tokens that the path before has too
  };
  // The paths of the tree behind this place, depth first, at most 32. The product of a path's
  // chances stays above `least`.
  std::vector<Path> paths_behind(int64_t place, const Chance& chance, double least) const;

 private:
  int64_t place_after(int64_t place, int32_t token) const;

  std::vector<int32_t> tokens_;
  std::vector<Successors> successors_;
  std::map<int32_t, std::vector<int32_t>> places_;  // of each token, rising
};

}  // namespace tandem
