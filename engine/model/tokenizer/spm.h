// SentencePiece BPE (tokenizer.ggml.model = llama): the adjacent pair whose union has the highest score merges first.
//
// Contract: blanks are U+2581 inside; characters the vocabulary lacks become byte tokens, or one unknown token for a
// run of them where the bytes are missing too. A literal U+2581 in text therefore decodes to a blank. Refers to the
// vocabulary. Thread-safe.
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
  void append_unmerged(std::string_view character, bool& after_unknown, std::vector<int32_t>& ids) const;

  const Vocabulary& vocabulary_;
  std::unordered_map<std::string_view, int32_t> ids_;
  size_t longest_ = 0;           // bytes
  bool words_are_apart_ = true;  // no token goes past the end of a word, so each word merges on its own
};

}  // namespace tandem
