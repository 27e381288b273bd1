// The pre-tokenizers of byte-level BPE vocabularies: patterns that cut text into words. Merges stay inside a word.
//
// Contract: the table's patterns are the published ones. Several patterns apply one after the other, each to the pieces
// of the one before. find_pre_tokenizer() throws an Error for an unknown name; it lists the known ones. Thread-safe
// after construction.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/tokenizer/regex.h"

namespace tandem {

// Encoders like RoBERTa. Their texts stand between BOS and EOS, as those of other encoders do.
inline constexpr const char* kRoberta = "roberta-bpe";

struct PreTokenizerSpec {
  std::vector<std::string_view> names;  // values of tokenizer.ggml.pre
  std::vector<std::string> patterns;
  bool ignore_merges = false;  // a piece that is a vocabulary entry becomes that token, whatever its merges give
  bool adds_bos = false;       // if the file does not state it
};

std::span<const PreTokenizerSpec> pre_tokenizers();  // for tests: each of them must cut and lose no byte
const PreTokenizerSpec& find_pre_tokenizer(std::string_view name, const std::string& file);

class PreTokenizer {
 public:
  explicit PreTokenizer(const PreTokenizerSpec& spec);

  // The pieces of any bytes, in order and without gaps. A byte outside any character counts as a symbol.
  std::vector<TextSpan> cut(std::string_view text) const;

 private:
  std::vector<Regex> patterns_;
};

}  // namespace tandem
