// S6: an index of texts that do not change: where does the longest match of a context's end lie in them?
//
// The ends of all prefixes stand in the order of their tokens read backwards (a suffix array of the reversed text,
// Manber and Myers 1990). Matches of a context's end are one range of this order. It takes 4 bytes a token, and the
// tokens take 4 more.
//
// Contract
//   Tokens: texts one after another, the oldest first, each followed by kSeparator. Ends are indices of tokens. A place
//   that no token of the same text follows is never found.
//   Threads: any number, once it is built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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
  std::span<const int32_t> tokens() const { return tokens_; }
  size_t bytes() const;

  Range longest_match(std::span<const int32_t> context) const;
  // The last and the first end in a range that is not empty.
  int32_t last_end(const Range& range) const;
  int32_t first_end(const Range& range) const;

 private:
  int32_t matching(size_t entry, std::span<const int32_t> context, int32_t from) const;

  std::vector<int32_t> tokens_, order_;
  std::vector<int32_t> block_lasts_, block_firsts_;  // the last and the first end of each block of the order
};

}  // namespace tandem
