// SentencePiece BPE (tokenizer.ggml.model = llama). The adjacent pair whose union has the highest score merges first.
//
// Contract: blanks are U+2581 internally, so a literal U+2581 in text decodes to a blank. Characters outside the
// vocabulary become byte tokens. A run of characters whose byte tokens are missing too becomes one unknown token.
// Merges go through unused tokens, but the text has the tokens that an unused one was merged from.
// Refers to the vocabulary. Thread-safe.
#pragma once

#include <string_view>
#include <unordered_map>

#include "engine/model/tokenizer/text_model.h"
#include "engine/model/tokenizer/vocabulary.h"

namespace tandem {

class SpmModel : public TextModel {
 public:
  explicit SpmModel(const Vocabulary& vocabulary);
  void encode(std::string_view text, bool at_start, std::vector<int32_t>& ids) const override;
  std::string bytes(int32_t id) const override;

 private:
  struct Piece;
  struct Candidate;
  struct Scratch;

  int32_t find(std::string_view text) const;  // -1: no token
  void merge(std::string_view word, Scratch& scratch) const;
  void append(std::string_view text, const Scratch& scratch, bool& after_unknown, std::vector<int32_t>& ids) const;
  void append_unmerged(std::string_view character, bool& after_unknown, std::vector<int32_t>& ids) const;

  const Vocabulary& vocabulary_;
  std::unordered_map<std::string_view, int32_t> ids_;
  size_t longest_ = 0;           // bytes
  bool words_are_apart_ = true;  // no token reaches past the end of a word, so each word merges on its own
};

}  // namespace tandem
