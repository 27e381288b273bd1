// Byte-level BPE (tokenizer.ggml.model = gpt2). Inside a pre-tokenizer's piece, the adjacent pair with the lowest merge
// rank merges first.
//
// Contract: any bytes can be encoded, and decode to themselves. Some vocabularies leave out bytes that valid UTF-8
// never holds. A byte without a token becomes U+FFFD. Refers to the vocabulary. Thread-safe.
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
  // Symbols are the vocabulary's entries (the symbol is the id) and, after them, texts that occur only in merges.
  struct Merge {
    uint64_t pair = kNoPair;  // left and right symbol
    int32_t rank = 0;
    int32_t symbol = 0;
  };
  static constexpr uint64_t kNoPair = ~uint64_t{0};
  struct Piece;
  struct Candidate;
  struct Scratch;

  // Index of the pair in the table, or of the free place where it belongs.
  size_t place_of(uint64_t pair) const;
  const Merge* find_merge(int32_t left, int32_t right) const;
  int32_t token_of(int32_t symbol) const;  // -1: not the symbol of a plain token
  void encode_word(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const;
  void append_bytes(std::string_view bytes, std::vector<int32_t>& ids) const;

  const Vocabulary& vocabulary_;
  PreTokenizer pre_tokenizer_;
  std::array<int32_t, 256> byte_symbols_;
  std::vector<Merge> merges_;  // table of 2^n places, at most half full; a pair is at its hash or behind it
  std::unordered_map<std::string, int32_t> whole_words_;  // bytes of a word to its token, if words ignore merges
  std::vector<int32_t> replacement_;                      // the ids of U+FFFD
};

}  // namespace tandem
