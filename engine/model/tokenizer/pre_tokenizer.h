// The pre-tokenizers of byte-level BPE vocabularies: patterns that cut text into the words merges stay inside.
//
// Contract: the table's patterns are the published ones; several patterns apply one after the other, each to the pieces
// of the one before. make_pre_tokenizer() throws an Error listing the names when it does not know one. Thread-safe
// after construction.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/tokenizer/regex.h"

namespace tandem {

struct PreTokenizerSpec {
  std::vector<std::string_view> names;  // values of tokenizer.ggml.pre
  std::vector<std::string> patterns;
  bool ignore_merges = false;  // a piece that is a vocabulary entry is that token, whatever the merges would make of it
  bool adds_bos = false;       // where the file does not say
};

std::span<const PreTokenizerSpec> pre_tokenizers();  // for tests: that each of them cuts, and loses no byte
const PreTokenizerSpec& find_pre_tokenizer(std::string_view name, const std::string& file);

class PreTokenizer {
 public:
  explicit PreTokenizer(const PreTokenizerSpec& spec);

  // The pieces of any bytes, in order and without gaps. A byte that belongs to no character counts as a symbol.
  std::vector<TextSpan> cut(std::string_view text) const;

 private:
  std::vector<Regex> patterns_;
};

}  // namespace tandem
