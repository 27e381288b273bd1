// Byte-pair encoding: the neighbours whose merge has the lowest rank are joined until none are left. A heap keeps the
// candidates, so a word of n pieces costs n log n steps.
#include "engine/model/tokenizer/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "engine/model/tokenizer/byte_map.h"

namespace tandem {

namespace {

uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

// Maps texts to symbols while the model is built. Open addressing, with a part of the hash beside each entry. A
// vocabulary makes 150,000 look-ups, and hardly one of them reads a text other than the wanted one (14 ms in a
// table of nodes).
class SymbolTable {
 public:
  explicit SymbolTable(const Vocabulary& vocabulary)
      : vocabulary_(vocabulary), places_(std::bit_ceil(2 * (vocabulary.texts.size() + 256))) {}

  // Returns the text's symbol; true: the text was new, and `symbol` is its symbol from now on.
  std::pair<int32_t*, bool> insert(std::string_view text, int32_t symbol) {
    if (2 * taken_ >= places_.size()) grow();
    Place& place = find(text);
    if (place.symbol >= 0) return {&place.symbol, false};
    place.symbol = symbol;
    ++taken_;
    if (std::cmp_greater_equal(symbol, vocabulary_.texts.size())) others_.emplace_back(text);
    return {&place.symbol, true};
  }

 private:
  struct Place {
    uint32_t tag = 0;
    int32_t symbol = -1;
  };
  // The text's place, or the free place where it belongs, which already has its tag then.
  Place& find(std::string_view text) {
    const size_t hash = std::hash<std::string_view>{}(text), mask = places_.size() - 1;
    const auto tag = static_cast<uint32_t>(hash >> 32);
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
      Place& place = places_[at];
      if (place.symbol < 0) place.tag = tag;
      if (place.symbol < 0 || (place.tag == tag && text_of(place.symbol) == text)) return place;
    }
  }
  // Doubles the table before it is full. Symbols stay what they were, and only their places change.
  void grow() {
    const std::vector<Place> before = std::exchange(places_, std::vector<Place>(2 * places_.size()));
    for (const Place& place : before) {
      if (place.symbol >= 0) find(text_of(place.symbol)).symbol = place.symbol;
    }
  }
  std::string_view text_of(int32_t symbol) const {
    const size_t at = static_cast<size_t>(symbol), known = vocabulary_.texts.size();
    return at < known ? std::string_view(vocabulary_.texts[at]) : others_[at - known];
  }

  const Vocabulary& vocabulary_;
  std::vector<Place> places_;  // 2^n places, at most half full
  size_t taken_ = 0;
  std::vector<std::string> others_;  // texts of the symbols after the vocabulary's
};

}  // namespace

// A part of the word, in a doubly linked list. symbol -1: merged into its left neighbour.
struct BpeModel::Piece {
  int32_t symbol;
  uint32_t size;           // bytes
  int32_t previous, next;  // -1: none
};

// A possible merge of two neighbours.
struct BpeModel::Candidate {
  int32_t rank;
  int32_t left, right;
  int32_t left_symbol, right_symbol;  // when pushed; if one has changed since, the candidate is stale
  int32_t symbol;

  // Orders a heap whose front has the lowest rank; among equals, the leftmost.
  bool operator<(const Candidate& other) const {
    return rank > other.rank || (rank == other.rank && left > other.left);
  }
};

// Reused from word to word. Most words are short, and allocating would cost more than merging.
struct BpeModel::Scratch {
  std::vector<Piece> pieces;
  std::vector<Candidate> heap;
};

// Gives every text a symbol, then turns the merges into a table from pairs of symbols to their rank and result.
BpeModel::BpeModel(const Vocabulary& vocabulary)
    : vocabulary_(vocabulary), pre_tokenizer_(find_pre_tokenizer(vocabulary.pre_tokenizer, vocabulary.file)) {
  SymbolTable symbols(vocabulary);
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    // If two tokens have one text, merges give the plain one.
    const auto [symbol, is_new] = symbols.insert(vocabulary.texts[id], id);
    if (!is_new && (token_of(id) >= 0 || token_of(*symbol) < 0)) *symbol = id;
  }
  int32_t next_symbol = static_cast<int32_t>(vocabulary.texts.size());
  const auto intern = [&](std::string_view text) {
    const auto [symbol, is_new] = symbols.insert(text, next_symbol);
    if (is_new) ++next_symbol;
    return *symbol;
  };
  // Every byte gets a symbol, even if no token has its text. So any word can be cut into symbols.
  for (int byte = 0; byte < 256; ++byte)
    byte_symbols_[byte] = intern(byte_map::character_of(static_cast<uint8_t>(byte)));
  merges_.resize(std::bit_ceil(2 * vocabulary.merges.size() + 1));
  std::string both;
  for (size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
    const auto& [left, right] = vocabulary.merges[rank];
    both.assign(left).append(right);
    const int32_t symbol = intern(both);
    const uint64_t pair = pair_key(intern(left), intern(right));
    Merge& merge = merges_[place_of(pair)];
    // If two merges have the same pair, the first has the lower rank and stays.
    if (merge.pair == kNoPair) merge = {pair, static_cast<int32_t>(rank), symbol};
  }
  // With these pre-tokenizers a piece that is a token becomes this token, even if merges would not build it.
  if (find_pre_tokenizer(vocabulary.pre_tokenizer, vocabulary.file).ignore_merges) {
    for (int32_t id = 0; id < vocabulary.size(); ++id) {
      if (token_of(id) >= 0) whole_words_[bytes(id)] = id;
    }
  }
  // The tokens of U+FFFD stand for a byte that the vocabulary lacks. They are found once, by the model itself.
  Scratch scratch;
  std::vector<int32_t> ids;
  encode_word("\xEF\xBF\xBD", scratch, ids);  // replacement_ is still empty: a missing byte adds nothing
  replacement_ = ids;
}

const BpeModel::Merge* BpeModel::find_merge(int32_t left, int32_t right) const {
  const Merge& merge = merges_[place_of(pair_key(left, right))];
  return merge.pair == kNoPair ? nullptr : &merge;
}

// Open addressing. The multiplication spreads neighbouring pairs over the table (Fibonacci hashing, 2^64 over the
// golden ratio).
size_t BpeModel::place_of(uint64_t pair) const {
  const size_t mask = merges_.size() - 1;
  const uint64_t mixed = pair * 0x9e3779b97f4a7c15;
  size_t at = static_cast<size_t>(mixed ^ mixed >> 32) & mask;
  while (merges_[at].pair != pair && merges_[at].pair != kNoPair) at = (at + 1) & mask;
  return at;
}

// Not every symbol may come out of merges.
int32_t BpeModel::token_of(int32_t symbol) const {
  if (symbol >= vocabulary_.size()) return -1;
  // Texts of special and user-defined tokens are stored as they are, not byte-mapped. The splitter finds them;
  // merges must not.
  return vocabulary_.is_special(symbol) || vocabulary_.kinds[symbol] == TokenKind::user_defined ? -1 : symbol;
}

// Merges stay within a piece of the pre-tokenizer, so each piece is encoded by itself.
void BpeModel::encode(std::string_view text, bool /*at_start*/, std::vector<int32_t>& ids) const {
  Scratch scratch;
  for (const TextSpan& piece : pre_tokenizer_.cut(text)) {
    encode_word(text.substr(piece.begin, piece.end - piece.begin), scratch, ids);
  }
}

// Begins with one piece for each byte. Repeatedly merges the pair with the lowest rank, whose candidates are in a heap.
// A merge leaves stale candidates in the heap; their symbols no longer match, and they are skipped.
void BpeModel::encode_word(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const {
  if (!whole_words_.empty()) {
    if (const auto whole = whole_words_.find(std::string(word)); whole != whole_words_.end()) {
      ids.push_back(whole->second);
      return;
    }
  }
  std::vector<Piece>& pieces = scratch.pieces;
  std::vector<Candidate>& heap = scratch.heap;
  const auto consider = [&](int32_t left, int32_t right) {
    if (left < 0 || right < 0) return false;
    const Merge* merge = find_merge(pieces[left].symbol, pieces[right].symbol);
    if (merge) heap.push_back({merge->rank, left, right, pieces[left].symbol, pieces[right].symbol, merge->symbol});
    return merge != nullptr;
  };

  pieces.clear();
  heap.clear();
  const auto count = static_cast<int32_t>(word.size());
  for (int32_t i = 0; i < count; ++i) {
    pieces.push_back({byte_symbols_[static_cast<uint8_t>(word[i])], 1, i - 1, i + 1 < count ? i + 1 : -1});
  }
  // All first candidates are collected before the heap is built, which takes linear time.
  for (int32_t i = 1; i < count; ++i) consider(i - 1, i);
  std::make_heap(heap.begin(), heap.end());

  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Candidate best = heap.back();
    heap.pop_back();
    Piece& left = pieces[best.left];
    Piece& right = pieces[best.right];
    // Stale: a merge has changed one of the two since.
    if (left.symbol != best.left_symbol || right.symbol != best.right_symbol) continue;
    left.symbol = best.symbol;
    left.size += right.size;
    left.next = right.next;
    right.symbol = -1;
    if (left.next >= 0) pieces[left.next].previous = best.left;
    if (consider(left.previous, best.left)) std::push_heap(heap.begin(), heap.end());
    if (consider(best.left, left.next)) std::push_heap(heap.begin(), heap.end());
  }

  // The pieces that are left, in the order of the text. One without a token is written byte by byte.
  size_t at = 0;
  for (int32_t i = pieces.empty() ? -1 : 0; i >= 0; i = pieces[i].next) {
    const int32_t id = token_of(pieces[i].symbol);
    if (id >= 0) {
      ids.push_back(id);
    } else {
      append_bytes(word.substr(at, pieces[i].size), ids);
    }
    at += pieces[i].size;
  }
}

// A byte without a token becomes the tokens of U+FFFD.
void BpeModel::append_bytes(std::string_view bytes, std::vector<int32_t>& ids) const {
  for (const char byte : bytes) {
    const int32_t id = token_of(byte_symbols_[static_cast<uint8_t>(byte)]);
    if (id >= 0) {
      ids.push_back(id);
    } else {
      ids.insert(ids.end(), replacement_.begin(), replacement_.end());
    }
  }
}

// The text of a token is in the printable characters of the byte map.
std::string BpeModel::bytes(int32_t id) const { return byte_map::bytes_of(vocabulary_.texts[id]); }

}  // namespace tandem
