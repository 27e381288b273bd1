// S3: earlier texts of one tokenizer, as records that drafts continue.
//
// Most records lie in an index that takes 8 bytes a token (suffix_index.h). Records that were added since then lie in a
// suffix automaton, which takes some 70 and grows by a record at a time.
//
// Contract
//   Records: numbers from 0 on, the oldest first. Adding a record changes no other one.
//   Threads: one at a time. HistoryMatcher refers to its history, which must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "engine/draft/match.h"
#include "engine/draft/suffix_automaton.h"
#include "engine/draft/suffix_index.h"

namespace tandem {

class DraftHistory {
 public:
  DraftHistory() = default;
  explicit DraftHistory(SuffixIndex index);  // its texts are the first records
  void add(std::span<const int32_t> record);
  int64_t records() const { return static_cast<int64_t>(begins_.size()); }
  int64_t tokens() const { return tokens_; }
  std::span<const int32_t> record(int64_t number) const;
  size_t bytes() const;
  int64_t added_tokens() const { return std::ssize(added()); }  // that are not in the index, with separators
  void compact();                                               // moves all records into the index

 private:
  friend class HistoryMatcher;
  std::span<const int32_t> added() const { return added_.tokens(); }
  int32_t indexed_tokens() const { return static_cast<int32_t>(index_.tokens().size()); }
  Match match_at(int64_t place, int32_t length) const;

  SuffixIndex index_;
  SuffixAutomaton added_;        // behind the indexed tokens
  std::vector<int64_t> begins_;  // of records, in all tokens with their separators
  int64_t tokens_ = 0;
  int64_t version_ = 0;  // of the records
};

// Finds the longest match of a growing context in a history.
class HistoryMatcher {
 public:
  explicit HistoryMatcher(DraftHistory& history) : history_(&history) {}
  // The context is that of the call before with more tokens behind it.
  Match longest(std::span<const int32_t> context, Occurrence which);
  // Says what follows the match that longest() found last.
  Followers followers();

 private:
  struct Found {
    int32_t length = 0;
    int32_t end = -1;  // -1: nothing was found
  };
  struct AddedFollowers {
    Followers followers = Followers::once;
    int32_t token = kSeparator;  // behind one of the places
  };
  AddedFollowers followers_in_added(int32_t state);
  void follow(std::span<const int32_t> context);
  Found in_added(Occurrence which);
  Found in_index(std::span<const int32_t> context, Occurrence which);
  int32_t followed_end(int32_t state, Occurrence which);

  DraftHistory* history_;
  int64_t version_ = -1;
  size_t read_ = 0;                 // tokens of the context that the automaton has read
  int32_t found_state_ = 0;         // of the longest match in the automaton; the root: it has none
  SuffixIndex::Range found_range_;  // of the longest match in the index
  int32_t state_ = 0, length_ = 0;  // of the automaton: the longest end of the context that stands in it
};

}  // namespace tandem
