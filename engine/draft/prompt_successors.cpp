#include "engine/draft/prompt_successors.h"

#include <algorithm>
#include <utility>

#include "sync/error.h"

namespace tandem {
namespace {

// A bound on the work behind one token.
constexpr size_t kMostPaths = 32;

}  // namespace

// The prompt arrives in pieces, and each token brings the successors that its logits name.
void PromptSuccessors::add(std::span<const int32_t> tokens, std::span<const Successors> successors) {
  TANDEM_CHECK(tokens.size() == successors.size(), "successors of each token");
  for (const int32_t token : tokens) {
    places_[token].push_back(static_cast<int32_t>(tokens_.size()));
    tokens_.push_back(token);
  }
  successors_.insert(successors_.end(), successors.begin(), successors.end());
}

// A token that the prompt does not have gives no draft.
int64_t PromptSuccessors::last_place_of(int32_t token) const {
  const auto found = places_.find(token);
  return found == places_.end() ? -1 : found->second.back();
}

// The prompt counts as a ring: behind its end the search goes on at its beginning.
int64_t PromptSuccessors::place_after(int64_t place, int32_t token) const {
  const auto found = places_.find(token);
  if (found == places_.end()) return -1;
  const auto later = std::ranges::upper_bound(found->second, place);
  return later == found->second.end() ? found->second.front() : *later;
}

// Depth first. A path is complete when no successor of its last place goes on.
std::vector<PromptSuccessors::Path> PromptSuccessors::paths_behind(int64_t place, const Chance& chance,
                                                                   double least) const {
  std::vector<Path> paths;
  Path path;
  const auto visit = [&](const auto& self, int64_t at, double weight) -> void {
    bool goes_on = false;
    const auto depth = std::ssize(path.tokens);
    for (int rank = 0; at >= 0 && depth < kCalibratedDepth && rank < kSuccessors; ++rank) {
      const int32_t token = successors_[static_cast<size_t>(at)][static_cast<size_t>(rank)];
      const double each = chance(depth, rank);
      if (token < 0 || weight * each <= least || paths.size() == kMostPaths) continue;
      goes_on = true;
      path.tokens.push_back(token);
      path.chances.push_back(each);
      path.ranks.push_back(rank);
      self(self, place_after(at, token), weight * each);
      path.tokens.pop_back();
      path.chances.pop_back();
      path.ranks.pop_back();
      // `shared` is the number of tokens that the next path has in common with the one before it.
      path.shared = std::min(path.shared, depth);
    }
    if (goes_on || depth == 0 || paths.size() == kMostPaths) return;
    paths.push_back(path);
    path.shared = depth;
  };
  if (place >= 0 && place < std::ssize(tokens_)) visit(visit, place, 1);
  return paths;
}

}  // namespace tandem
