// SentencePiece Unigram (tokenizer.ggml.model = t5): of all ways to divide a text into tokens, the one with the highest
// sum of scores (Kudo 2018, arXiv:1804.10959).
//
// Contract: characters are changed by the file's table first (charsmap.h), and bytes outside any character become
// U+FFFD. Blanks are U+2581 inside; runs of them become one if the file says so. A character without a token costs ten
// more than the worst token. A run of such characters is one unknown token, or byte tokens if each byte has a token. If
// sums are equal, the way with the longer last token counts. Sums are f32, from the text's beginning on. Refers to the
// vocabulary. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/model/tokenizer/charsmap.h"
#include "engine/model/tokenizer/text_model.h"
#include "engine/model/tokenizer/vocabulary.h"

namespace tandem {

class UnigramModel : public TextModel {
 public:
  explicit UnigramModel(const Vocabulary& vocabulary);
  void encode(std::string_view text, bool at_start, std::vector<int32_t>& ids) const override;
  std::string bytes(int32_t id) const override;

 private:
  std::string normalised(std::string_view text, bool at_start) const;
  void append_unknown(std::string_view characters, std::vector<int32_t>& ids) const;
  template <typename Use>
  void each_token_at(std::string_view text, const Use& use) const;

  const Vocabulary& vocabulary_;
  const Charsmap charsmap_;
  std::vector<std::pair<std::string_view, int32_t>> tokens_;  // ascending by text
  float unknown_score_ = 0;
};

}  // namespace tandem
