// Byte-level BPE (tokenizer.ggml.model = gpt2): inside a pre-tokenizer's piece the adjacent pair with the lowest merge
// rank merges first.
//
// Contract: any bytes encode, and decode to themselves. A byte that the vocabulary has no token for (some leave out
// those that valid UTF-8 never holds) becomes U+FFFD. Refers to the vocabulary. Thread-safe.
#pragma once

#include <array>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/model/tokenizer/pre_tokenizer.h"
#include "engine/model/tokenizer/text_model.h"
#include "engine/model/tokenizer/vocabulary.h"

namespace tandem {

class BpeModel : public TextModel {
 public:
  explicit BpeModel(const Vocabulary& vocabulary);
  void encode(std::string_view text, bool at_start, std::vector<int32_t>& ids) const override;
  std::string bytes(int32_t id) const override;

 private:
  // Symbols are the vocabulary's entries (the symbol is the id) and, after them, texts that only merges name.
  struct Merge {
    uint64_t pair = kNoPair;  // left and right symbol
    int32_t rank = 0;
    int32_t symbol = 0;
  };
  static constexpr uint64_t kNoPair = ~uint64_t{0};
  struct Piece;
  struct Candidate;
  struct Scratch;

  // Where the pair is in the table, or where it would go.
  size_t place_of(uint64_t pair) const;
  const Merge* find_merge(int32_t left, int32_t right) const;
  int32_t token_of(int32_t symbol) const;  // -1: not the symbol of a plain token
  void encode_word(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const;
  void append_bytes(std::string_view bytes, std::vector<int32_t>& ids) const;

  const Vocabulary& vocabulary_;
  PreTokenizer pre_tokenizer_;
  std::array<int32_t, 256> byte_symbols_;
  std::vector<Merge> merges_;  // a table of 2^n places, at most half of them taken; a pair is at its hash or behind it
  std::unordered_map<std::string, int32_t> whole_words_;  // by their bytes, where merges are ignored for them
  std::vector<int32_t> replacement_;                      // the ids of U+FFFD
};

}  // namespace tandem
