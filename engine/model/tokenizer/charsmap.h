// The table by which a SentencePiece vocabulary changes characters before it divides a text, in the packed form that
// files carry (tokenizer.ggml.precompiled_charsmap).
//
// Idea: rules of Unicode's compatibility forms and of the vocabulary's maker replace runs of bytes: "ﬁ" becomes "fi",
// a line end a blank. The longest rule that fits at a place counts. Rules are in a double-array trie (Aoe 1989): a
// node's number, changed by a byte's bits, is the number of the child.
// Layout: four bytes, the size of the trie in bytes; the trie, words of four bytes; texts that end with a zero byte.
// All is little-endian.
// Contract: Error if the sizes do not fit. The bytes inside may be anything, and no look-up reads outside. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

class Charsmap {
 public:
  // An empty table changes nothing. on: for errors.
  Charsmap(std::string_view packed, const std::string& on);

  // The first `length` bytes of a text are replaced by `text`; length 0: no rule fits. `text` lives as long as
  // the table.
  struct Replaced {
    size_t length = 0;
    std::string_view text;
  };
  Replaced at(std::string_view text) const;

 private:
  std::vector<uint32_t> trie_;
  std::string texts_;
};

}  // namespace tandem
