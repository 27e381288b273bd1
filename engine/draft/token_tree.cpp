#include "engine/draft/token_tree.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace tandem {
namespace {

// All candidates as one tree, in the order in which they begin nodes.
struct Trie {
  struct Node {
    int32_t id, parent, depth;
    double weight;
    TokenTree::Origin origin;
    int32_t child = -1, sibling = -1;  // the first child, and the next one of the same parent
  };
  std::vector<Node> nodes;
  int32_t first = -1;  // the first node behind the newest token

  // Children of a node are a list of siblings. A node has few of them, so a search along the list is short.
  int32_t child_of(int32_t parent, int32_t id) const {
    int32_t each = parent < 0 ? first : nodes[static_cast<size_t>(parent)].child;
    while (each >= 0 && nodes[static_cast<size_t>(each)].id != id) each = nodes[static_cast<size_t>(each)].sibling;
    return each;
  }
  int32_t add(int32_t parent, const Node& node) {
    const auto added = static_cast<int32_t>(nodes.size());
    int32_t& head = parent < 0 ? first : nodes[static_cast<size_t>(parent)].child;
    const int32_t sibling = head;
    head = added;
    nodes.push_back(node);
    nodes.back().sibling = sibling;
    return added;
  }
};

// (M1, M2) Candidates with an equal beginning share its nodes. A node keeps the largest weight that any candidate gives
// it; a weight is the product of probabilities up to its token.
Trie trie_of(std::span<const DraftCandidate> candidates) {
  Trie trie;
  size_t most = 0;
  for (const DraftCandidate& candidate : candidates) most += candidate.tokens.size();
  trie.nodes.reserve(most);
  for (size_t c = 0; c < candidates.size(); ++c) {
    const DraftCandidate& candidate = candidates[c];
    const size_t tokens = std::min(candidate.tokens.size(), static_cast<size_t>(kMostCandidateTokens));
    double weight = 1;
    int32_t node = -1;
    for (size_t i = 0; i < tokens; ++i) {
      weight *= candidate.probabilities[i];
      const auto depth = static_cast<int32_t>(i);
      int32_t next = trie.child_of(node, candidate.tokens[i]);
      if (next < 0) next = trie.add(node, {candidate.tokens[i], node, depth, weight, {static_cast<int32_t>(c), depth}});
      double& known = trie.nodes[static_cast<size_t>(next)].weight;
      known = std::max(known, weight);
      node = next;
    }
  }
  return trie;
}

// M3: what a node is ranked by.
struct Ranked {
  double weight;
  int32_t depth, node;  // of equal weight and depth, the node of the earlier candidate
};

// The order is total, so equal candidates give equal trees on every machine.
bool ranked_before(const Ranked& a, const Ranked& b) {
  if (a.weight != b.weight) return a.weight > b.weight;
  return a.depth != b.depth ? a.depth < b.depth : a.node < b.node;
}

}  // namespace

std::vector<double> chain_weights(std::span<const double> probabilities) {
  std::vector<double> weights(probabilities.size());
  std::partial_sum(probabilities.begin(), probabilities.end(), weights.begin(), std::multiplies());
  return weights;
}

// A chain is a tree in which each node has one child. A draft by one candidate needs no ranking.
TokenTree chain_of(const DraftCandidate& candidate, size_t index) {
  TokenTree chain;
  chain.ids = candidate.tokens;
  chain.weights = chain_weights(candidate.probabilities);
  for (int32_t i = 0; i < std::ssize(candidate.tokens); ++i) {
    chain.parents.push_back(i - 1);
    chain.positions.push_back(i);
    chain.origins.push_back({static_cast<int32_t>(index), i});
  }
  return chain;
}

// A child's weight is at most its parent's, and it is deeper, so it is ranked behind its parent.
TokenTree merged(std::span<const DraftCandidate> candidates, int64_t cap) {
  const Trie trie = trie_of(candidates);
  const auto& nodes = trie.nodes;
  std::vector<Ranked> order;
  order.reserve(nodes.size());
  for (const auto& node : nodes) order.push_back({node.weight, node.depth, static_cast<int32_t>(order.size())});
  // Only the best nodes are sorted, because candidates may have many more than fit into a pass.
  const size_t kept = std::min(order.size(), static_cast<size_t>(std::max<int64_t>(cap, 0)));
  if (kept < order.size())
    std::ranges::nth_element(order, order.begin() + static_cast<std::ptrdiff_t>(kept), ranked_before);
  order.resize(kept);
  std::ranges::sort(order, ranked_before);
  std::vector<int32_t> ranks(nodes.size(), -1);
  TokenTree tree;
  tree.ids.reserve(kept);
  tree.parents.reserve(kept);
  tree.positions.reserve(kept);
  tree.weights.reserve(kept);
  tree.origins.reserve(kept);
  for (const auto& [weight, depth, index] : order) {
    const auto& node = nodes[static_cast<size_t>(index)];
    ranks[static_cast<size_t>(index)] = static_cast<int32_t>(tree.ids.size());
    tree.ids.push_back(node.id);
    tree.parents.push_back(node.parent < 0 ? -1 : ranks[static_cast<size_t>(node.parent)]);
    tree.positions.push_back(depth);
    tree.weights.push_back(weight);
    tree.origins.push_back(node.origin);
  }
  return tree;
}

// A row is the parent's row and the node itself, since parents come before their children.
std::vector<uint8_t> mask_of(std::span<const int32_t> parents) {
  const size_t nodes = parents.size();
  std::vector<uint8_t> mask(nodes * nodes, 0);
  for (size_t node = 0; node < nodes; ++node) {
    uint8_t* const row = mask.data() + node * nodes;
    if (parents[node] >= 0) std::copy_n(mask.data() + static_cast<size_t>(parents[node]) * nodes, nodes, row);
    row[node] = 1;
  }
  return mask;
}

}  // namespace tandem
