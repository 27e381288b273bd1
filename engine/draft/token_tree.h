// M1 to M3, M5: candidates for the next tokens become one tree, whose tokens are ranked by their chance to be accepted.
//
// M1: a token's weight is the product of the probabilities up to it, in doubles, from the first on. Candidates are cut
// at kMostCandidateTokens. M2: equal beginnings are one node, with the largest of its weights; so siblings differ. M3:
// nodes are ranked by weight, then the shallower one comes first, then the one that an earlier candidate began. The
// tree is the first `cap` of them, numbered by rank, so a parent comes before its children. M5: from the newest token
// on, the child that the model or the sampler chose is accepted, as long as there is one.
//
// Contract: pure functions. The newest token of the text is the root, and no node: -1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem {

// With the newest token a path has 32 tokens and a tree 64.
inline constexpr int64_t kMostCandidateTokens = 31, kMostNodes = 63;

struct DraftCandidate {
  std::vector<int32_t> tokens;
  std::vector<double> probabilities;  // of each token, given those before it: 0 to 1
};

struct TokenTree {
  std::vector<int32_t> ids, parents;
  std::vector<int32_t> positions;  // 0: the place behind the newest token
  std::vector<double> weights;     // the probability that the node is accepted
  // A node's token in the first candidate that has it. A caller learns from it what its candidates were worth.
  struct Origin {
    int32_t candidate = 0, token = 0;
  };
  std::vector<Origin> origins;

  int64_t nodes() const { return static_cast<int64_t>(ids.size()); }
};

// M1: the chance of each token of a chain to be accepted, from its probability behind those before it.
std::vector<double> chain_weights(std::span<const double> probabilities);
// A candidate as a tree without branches, whole. Its origins name it by this index.
TokenTree chain_of(const DraftCandidate& candidate, size_t index);

TokenTree merged(std::span<const DraftCandidate> candidates, int64_t cap);

// Which nodes each node sees: its ancestors and itself. Row after row, [nodes, nodes], 0 or 1.
std::vector<uint8_t> mask_of(std::span<const int32_t> parents);

// M5. ids, parents: the nodes that had a place in the pass; parents come before their children, -1 is the newest token.
// choice(node): what the model chose behind a node; -1: behind the newest token. It is called once for each accepted
// node, and before that for the newest token. Returns the accepted nodes. `next` becomes the last choice, which is no
// node of the tree.
template <typename Choice>
std::vector<int32_t> accepted_path(std::span<const int32_t> ids, std::span<const int32_t> parents, const Choice& choice,
                                   int32_t& next) {
  std::vector<int32_t> path;
  const auto nodes = static_cast<int32_t>(ids.size());
  for (int32_t node = -1;;) {
    next = choice(node);
    int32_t child = node + 1;
    while (child < nodes && (parents[static_cast<size_t>(child)] != node || ids[static_cast<size_t>(child)] != next))
      ++child;
    if (child == nodes) return path;
    path.push_back(child);
    node = child;
  }
}

}  // namespace tandem
