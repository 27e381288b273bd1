// Byte-level BPE (tokenizer.ggml.model = gpt2): inside a pre-tokenizer's piece the adjacent pair with the lowest merge
// rank merges first.
//
// Contract: any bytes encode, and decode to themselves. A byte that the vocabulary has no token for (some leave out
// those that valid UTF-8 never holds) becomes U+FFFD. Refers to the vocabulary. Thread-safe.
#pragma once

#include <array>
#include <string_view>
#include <unordered_map>

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
    int32_t rank;
    int32_t symbol;
  };
  struct Piece;
  struct Candidate;
  struct Scratch;

  const Merge* find_merge(int32_t left, int32_t right) const;
  int32_t token_of(int32_t symbol) const;  // -1: not the symbol of a plain token
  void encode_word(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const;
  void append_bytes(std::string_view bytes, std::vector<int32_t>& ids) const;

  const Vocabulary& vocabulary_;
  PreTokenizer pre_tokenizer_;
  std::array<int32_t, 256> byte_symbols_;
  std::unordered_map<uint64_t, Merge> merges_;
  std::unordered_map<std::string, int32_t> whole_words_;  // by their bytes, where merges are ignored for them
  std::vector<int32_t> replacement_;                      // the ids of U+FFFD
};

}  // namespace tandem
