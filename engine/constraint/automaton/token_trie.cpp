#include "engine/constraint/automaton/token_trie.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "engine/constraint/automaton/stack_sets.h"
#include "engine/constraint/text/code_points.h"
#include "tandem/tokenizer.h"

namespace tandem::constraint {
namespace {

constexpr size_t kMostTokenBytes = 4096;  // a longer token is never allowed

// The characters of a token that has plain ones alone. The count is null for a token with a control character, a quote,
// a backslash or broken UTF-8.
std::optional<int32_t> plain_characters(std::string_view text) {
  int32_t count = 0;
  for (; !text.empty(); ++count) {
    const std::optional<Character> first = first_character(text);
    if (!first || first->code < 0x20 || first->code == '"' || first->code == '\\') return std::nullopt;
    text.remove_prefix(first->bytes);
  }
  return count;
}

// Bytes 10xxxxxx continue a character of UTF-8.
bool continues_character(uint8_t byte) { return (byte & 0xC0) == 0x80; }

// Puts sorted texts into a tree. `path` has the nodes of the last text.
class TrieBuilder {
 public:
  // The texts come sorted, so a text shares its beginning with the one before it. Nodes behind that beginning are
  // finished: their subtrees get their ends.
  void add(std::string_view text, int32_t id) {
    size_t common = 0;
    while (common < text.size() && common < last_.size() && text[common] == last_[common]) ++common;
    close(common);
    for (size_t i = common; i < text.size(); ++i) open(text, i);
    last_ = text;
    TokenTrie::Node& node = trie_.nodes[path_.back()];
    if (node.own_tokens++ == 0) node.first_token = static_cast<int32_t>(trie_.tokens.size());
    trie_.tokens.push_back(id);
  }
  TokenTrie finish() {
    close(0);
    trie_.nodes[0].end = static_cast<int32_t>(trie_.nodes.size());
    return std::move(trie_);
  }
  TrieBuilder() { trie_.nodes.emplace_back(); }

 private:
  void open(std::string_view text, size_t place) {
    TokenTrie::Node node;
    node.byte = static_cast<uint8_t>(text[place]);
    node.depth = static_cast<uint16_t>(place + 1);
    node.first_token = static_cast<int32_t>(trie_.tokens.size());
    path_.push_back(trie_.nodes.size());
    trie_.nodes.push_back(node);
  }
  void close(size_t depth) {
    for (; path_.size() > depth + 1; path_.pop_back())
      trie_.nodes[path_.back()].end = static_cast<int32_t>(trie_.nodes.size());
  }
  TokenTrie trie_;
  std::vector<size_t> path_{0};
  std::string_view last_;
};

// Counts characters on the way down, and the longest token on the way up. A node's path is whole characters if no child
// of it continues one: all tokens of this tree are.
void count_characters(TokenTrie& trie) {
  std::vector<uint8_t> begun(1, 0);  // characters begun at each depth
  std::vector<size_t> at_depth(1, 0);
  for (size_t i = 1; i < trie.nodes.size(); ++i) {
    TokenTrie::Node& node = trie.nodes[i];
    begun.resize(node.depth + size_t{1});
    begun[node.depth] = static_cast<uint8_t>(begun[node.depth - size_t{1}] + (continues_character(node.byte) ? 0 : 1));
    const bool is_inside = static_cast<int32_t>(i) + 1 < node.end && continues_character(trie.nodes[i + 1].byte);
    node.chars = is_inside ? kInsideCharacter : begun[node.depth];
    node.most_chars = begun[node.depth];
  }
  std::vector<size_t> path;
  for (size_t i = 1; i < trie.nodes.size(); ++i) {
    while (path.size() >= trie.nodes[i].depth) path.pop_back();
    for (const size_t above : path)
      trie.nodes[above].most_chars = std::max(trie.nodes[above].most_chars, trie.nodes[i].most_chars);
    path.push_back(i);
    trie.nodes[0].most_chars = std::max(trie.nodes[0].most_chars, trie.nodes[i].most_chars);
  }
}

}  // namespace

void TokenBits::add(const TokenBits& other) {
  for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
}

bool TokenBits::any() const {
  return std::ranges::any_of(words_, [](uint64_t word) { return word != 0; });
}

// The tokens of a subtree lie together. Its range ends where that of the next subtree begins.
std::span<const int32_t> TokenTrie::below(size_t node) const {
  const auto first = static_cast<size_t>(nodes[node].first_token);
  const auto behind = static_cast<size_t>(nodes[node].end);
  const size_t end = behind < nodes.size() ? static_cast<size_t>(nodes[behind].first_token) : tokens.size();
  return std::span(tokens).subspan(first, end - first);
}

// Reads the vocabulary once: end tokens by themselves, then texts by their bytes. Special tokens keep an empty text, so
// no grammar can write them.
TokenTexts::TokenTexts(const Tokenizer& tokenizer)
    : texts(static_cast<size_t>(tokenizer.size())), ends(tokenizer.size()) {
  std::vector<int32_t> order;
  for (int32_t id = 0; id < size(); ++id) {
    if (tokenizer.is_end(id)) {
      ends.set(id);
      continue;
    }
    if (tokenizer.is_special(id)) continue;
    std::string text = tokenizer.piece(id, false);
    if (text.empty() || text.size() > kMostTokenBytes) continue;
    if (text.size() == 1) bytes[static_cast<uint8_t>(text[0])] = true;
    texts[static_cast<size_t>(id)] = std::move(text);
    order.push_back(id);
  }
  // A byte that is no token of its own is in no text, because some way of writing the text would get stuck before it.
  std::erase_if(order, [this](int32_t id) {
    std::string& text = texts[static_cast<size_t>(id)];
    const bool is_usable = std::ranges::all_of(text, [this](char c) { return bytes[static_cast<uint8_t>(c)]; });
    if (!is_usable) text.clear();
    return !is_usable;
  });
  std::ranges::sort(order, {}, [this](int32_t id) { return std::pair(text(id), id); });
  plain_up_to.assign(kMostPlainRun + 1, TokenBits(size()));
  TrieBuilder plain_tree, other_tree;
  for (const int32_t id : order) {
    const std::optional<int32_t> characters = plain_characters(text(id));
    if (!characters || *characters > kMostPlainRun) {
      other_tree.add(text(id), id);
      continue;
    }
    plain_tree.add(text(id), id);
    plain_up_to[static_cast<size_t>(*characters)].set(id);
  }
  // A token of few characters is also one of at most more characters.
  for (size_t n = 1; n < plain_up_to.size(); ++n) plain_up_to[n].add(plain_up_to[n - 1]);
  plain = plain_tree.finish();
  other = other_tree.finish();
  count_characters(plain);
}

}  // namespace tandem::constraint
