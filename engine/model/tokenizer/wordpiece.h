// WordPiece (tokenizer.ggml.model = bert): each word is cut into the longest tokens of the vocabulary, from its
// beginning on (Wu et al. 2016, arXiv:1609.08144; Devlin et al. 2018, arXiv:1810.04805).
//
// Contract: words end at blanks, and around punctuation and ideographs. A word without such tokens, or of more than a
// hundred characters, is one unknown token. Files mark tokens in one of two ways: tokens within a word begin with "##",
// or tokens at a word's beginning begin with U+2581. A vocabulary without upper case lowers letters and removes
// accents. Bytes outside any character are removed. Text is not kept byte for byte: decoding gives words with single
// blanks. Refers to the vocabulary. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/model/tokenizer/text_model.h"
#include "engine/model/tokenizer/vocabulary.h"

namespace tandem {

class WordPieceModel : public TextModel {
 public:
  explicit WordPieceModel(const Vocabulary& vocabulary);
  void encode(std::string_view text, bool at_start, std::vector<int32_t>& ids) const override;
  std::string bytes(int32_t id) const override;

 private:
  std::u32string normalised(std::string_view text) const;
  void cut(std::u32string_view word, std::vector<int32_t>& ids) const;

  const Vocabulary& vocabulary_;
  bool marks_words_ = false;  // U+2581 at a word's beginning; false: "##" within a word
  bool lowers_ = true;
  std::unordered_map<std::string_view, int32_t> begins_, within_;  // without their marks
  size_t longest_ = 0;                                             // bytes
};

}  // namespace tandem
