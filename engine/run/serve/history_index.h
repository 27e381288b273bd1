// S6: an index beside a history, so that a start does not look up all its texts again.
//
// The file FILE.index has the order of a SuffixIndex of the history's first texts, 4 bytes a token. Everything in it
// follows from the history. It says of which tokens it is by a hash, so an index of another history, of another state
// of it, or with damage counts as none. An index without a valid order is never used: no bytes make drafts read
// elsewhere than in the history.
//
// Contract
//   parse_history_index() takes any bytes. Its time grows with their number.
//   Files: a file of something else that has this name is never changed. A new index takes the place of the old one in
//   one step, and only its owner may read it.
//   Errors: none. Without an index a start takes longer.
//   Threads and processes: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/draft/suffix_index.h"

namespace tandem {

// Tokens behind the index that a start reads into a suffix automaton, which takes 0.7 us for each. A process that has
// added texts leaves fewer behind.
inline constexpr size_t kMostUnindexedAtStart = size_t{1} << 15, kMostUnindexedAtEnd = size_t{1} << 13;

// The index of the first of these tokens, which are texts with a separator behind each. Without tokens: there is none.
SuffixIndex parse_history_index(std::span<const std::byte> bytes, std::span<const int32_t> tokens);
std::vector<std::byte> history_index_bytes(const SuffixIndex& index);

class HistoryIndexFile {
 public:
  explicit HistoryIndexFile(const std::string& history);  // the path of the history
  SuffixIndex read(std::span<const int32_t> tokens) const;
  // The index of the first or all tokens. If more than `most` of them lie behind it, the index and its
  // file get them.
  SuffixIndex update(std::span<const int32_t> tokens, size_t most) const;
  // The history loses the first `count` of these tokens, which are whole texts.
  void remove_first(std::span<const int32_t> tokens, size_t count) const;
  bool write(const SuffixIndex& index) const;  // false: the system refused, or another file has the name
  bool remove() const;                         // true: there was an index
  int64_t bytes() const;                       // 0: there is no index
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

}  // namespace tandem
