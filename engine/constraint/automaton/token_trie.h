// The tokens of a vocabulary by their bytes: a tree in which tokens that begin alike share a path.
//
// Tokens whose bytes are plain characters alone are in a tree of their own. A JSON string takes all of them, so a walk
// need not look at each (StackSets::plain_run()).
//
// Contract: values without side effects. Nodes are in preorder, so the subtree of a node is a range of nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/constraint/automaton/trimming.h"

namespace tandem {
class Tokenizer;
}

namespace tandem::constraint {

// A bit for each token.
class TokenBits {
 public:
  TokenBits() = default;
  explicit TokenBits(int64_t tokens) : words_(static_cast<size_t>((tokens + 63) / 64)) {}
  void set(int32_t id) { words_[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64); }
  bool has(int32_t id) const { return words_[static_cast<size_t>(id) / 64] >> (id % 64) & 1; }
  void add(const TokenBits& other);
  bool any() const;
  std::span<const uint64_t> words() const { return words_; }

 private:
  std::vector<uint64_t> words_;
};

struct TokenTrie {
  struct Node {
    int32_t end = 0;          // the node behind the subtree
    int32_t first_token = 0;  // in `tokens`: those of the subtree begin here, its own first
    int32_t own_tokens = 0;
    uint16_t depth = 0;  // bytes from the root
    uint8_t byte = 0;
    // In the tree of plain tokens: characters from the root to here, 255 if this is inside one, and those of the
    // longest token of the subtree.
    uint8_t chars = 0, most_chars = 0;
  };
  std::vector<Node> nodes;  // the first is the root
  std::vector<int32_t> tokens;
  std::span<const int32_t> own(const Node& node) const {
    return std::span(tokens).subspan(static_cast<size_t>(node.first_token), static_cast<size_t>(node.own_tokens));
  }
  std::span<const int32_t> below(size_t node) const;  // the tokens of the subtree
};

inline constexpr uint8_t kInsideCharacter = 255;

// The parts of a vocabulary that masks need.
struct TokenTexts {
  explicit TokenTexts(const Tokenizer& tokenizer);
  std::string_view text(int32_t id) const { return texts[static_cast<size_t>(id)]; }

  // Empty: special tokens, and those without text or with bytes that are no token of their own: never allowed.
  std::vector<std::string> texts;
  TokenTrie plain, other;
  std::vector<TokenBits> plain_up_to;  // [n]: plain tokens of at most n characters
  TokenBits ends;                      // tokens that end a text
  ByteSet bytes{};                     // that are a token of their own
  int64_t size() const { return static_cast<int64_t>(texts.size()); }
};

}  // namespace tandem::constraint
