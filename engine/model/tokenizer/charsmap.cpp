#include "engine/model/tokenizer/charsmap.h"

#include <cstring>

#include "sync/error.h"

namespace tandem {
namespace {

// A node of the trie. Bits 0 to 7 are the byte that leads to it, and bit 31 marks a leaf, whose other bits are a value.
// Bit 8: the node has a leaf. Bits 10 to 30 lead to the children, eight bits further up if bit 9 is set.
constexpr uint32_t kLeaf = 1U << 31;
uint32_t children_of(uint32_t node) { return node >> 10 << ((node & 1U << 9) >> 6); }
bool has_leaf(uint32_t node) { return (node >> 8 & 1) != 0; }
uint32_t label_of(uint32_t node) { return node & (kLeaf | 255); }

}  // namespace

Charsmap::Charsmap(std::string_view packed, const std::string& on) {
  if (packed.empty()) return;
  uint32_t size = 0;
  if (packed.size() >= sizeof size) std::memcpy(&size, packed.data(), sizeof size);
  if (packed.size() < sizeof size || size == 0 || size % sizeof(uint32_t) != 0 || size > packed.size() - sizeof size)
    throw Error("the table of characters is damaged", on, "convert the model again with a current converter");
  trie_.resize(size / sizeof(uint32_t));
  std::memcpy(trie_.data(), packed.data() + sizeof size, size);
  texts_ = packed.substr(sizeof size + size);
}

// Goes down the trie byte by byte, and remembers the last leaf.
Charsmap::Replaced Charsmap::at(std::string_view text) const {
  Replaced found;
  if (trie_.empty()) return found;
  size_t place = children_of(trie_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    place ^= byte;
    if (place >= trie_.size() || label_of(trie_[place]) != byte) break;
    const uint32_t node = trie_[place];
    place ^= children_of(node);
    if (!has_leaf(node) || place >= trie_.size()) continue;
    const size_t begin = trie_[place] & ~kLeaf;
    if (begin < texts_.size())
      found = {i + 1, std::string_view(texts_).substr(begin, texts_.find('\0', begin) - begin)};
  }
  return found;
}

}  // namespace tandem
