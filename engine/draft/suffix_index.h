// S6: an index of texts that do not change: where does the longest match of a context's end lie in them?
//
// The ends of all prefixes stand in the order of their tokens read backwards (a suffix array of the reversed text,
// Manber and Myers 1990). Matches of a context's end are one range of this order. It takes 4 bytes a token, and the
// tokens take 4 more.
//
// Contract
//   Tokens: texts one after another, the oldest first, each followed by kSeparator. Ends are indices of tokens. A place
//   that no token of the same text follows is never found.
//   Order: by the tokens back to the text's beginning. Equal ones stand in any order.
//   Threads: any number, while it does not change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/draft/match.h"
#include "engine/draft/suffix_automaton.h"

namespace tandem {

class SuffixIndex {
 public:
  // Entries of the order whose last `length` tokens are those of a context.
  struct Range {
    size_t begin = 0, end = 0;
    int32_t length = 0;  // 0: nothing matches
  };

  SuffixIndex() = default;
  explicit SuffixIndex(const SuffixAutomaton& texts);
  // Of an order that was kept. Nothing: it does not have each place once that is to be found. If it is not sorted,
  // fewer matches are found.
  static std::optional<SuffixIndex> of(std::span<const int32_t> tokens, std::vector<int32_t> order);
  // Adds texts behind the others. It takes some 4 us for each of their tokens, and copies the order.
  void append(std::span<const int32_t> texts);
  // Removes texts from the beginning, which have so many tokens with their separators.
  void remove_first(size_t tokens);

  std::span<const int32_t> tokens() const { return tokens_; }
  std::span<const int32_t> order() const { return order_; }
  size_t bytes() const;

  Range longest_match(std::span<const int32_t> context) const;
  // The last and the first end in a range that is not empty.
  int32_t last_end(const Range& range) const;
  int32_t first_end(const Range& range) const;
  // The range is not empty. A long one is judged by some of its places.
  Followers followers(const Range& range) const;
  int32_t token_behind(size_t entry) const { return tokens_[static_cast<size_t>(order_[entry]) + 1]; }

 private:
  // The place of a context in the order: entries before `entry` are smaller, those from there on are not.
  struct Place {
    size_t entry = 0;
    int32_t before = 0, behind = 0;  // tokens that the entries beside it share with the context
  };
  std::pair<size_t, size_t> entries_of(int32_t token) const;
  Place place_of(std::span<const int32_t> context) const;
  int32_t matching(size_t entry, std::span<const int32_t> context, int32_t from) const;
  bool is_found(int32_t end) const;
  bool merge(const SuffixIndex& added);
  void make_tables();  // what the order implies
  void find_blocks();
  void find_token_begins();

  std::vector<int32_t> tokens_, order_;
  std::vector<int32_t> block_lasts_, block_firsts_;  // the last and the first end of each block of the order
  // The first entry of each last token, by token, and the end. Empty: ids are too large for a table.
  std::vector<int32_t> token_begins_;
};

}  // namespace tandem
