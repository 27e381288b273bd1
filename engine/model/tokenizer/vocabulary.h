// The vocabulary of a GGUF file, checked: token texts, kinds, scores, merges and the conventions around them.
//
// Contract: load_vocabulary() throws an Error, naming file and key, for anything that could break a tokenizer later.
// Such are arrays that are missing or differ in length, ids out of range, and malformed merges or byte tokens. Owns its
// strings, so the file may be closed afterwards.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/model/gguf.h"

namespace tandem {

enum class TokenKind : uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

enum class TokenizerModel { spm, bpe, wordpiece, unigram };

struct Vocabulary {
  std::string file;  // for errors
  TokenizerModel model = TokenizerModel::spm;
  std::string pre_tokenizer;  // bpe only

  std::vector<std::string> texts;                           // [V] as in the file
  std::vector<TokenKind> kinds;                             // [V]
  std::vector<float> scores;                                // [V] spm and unigram only
  std::vector<std::pair<std::string, std::string>> merges;  // bpe only, best first; only until the model is built
  std::array<int32_t, 256> byte_ids;                        // spm and unigram: ids of the <0x..> tokens; -1: none

  int32_t bos = -1, eos = -1, unknown = -1;  // -1: none
  std::unordered_set<int32_t> ends;          // generation stops at these ids
  bool add_bos = false, add_eos = false;
  bool add_space_prefix = false;          // not bpe
  bool remove_extra_whitespaces = false;  // spm and unigram only
  std::unordered_set<int32_t> strips;     // special tokens; white space of the text behind them is left out
  std::string charsmap;                   // unigram only: how characters are changed (charsmap.h); may be empty

  int64_t size() const { return static_cast<int64_t>(texts.size()); }
  bool is_special(int32_t id) const { return kinds[id] == TokenKind::control; }
  // Its text appears in text as it is, and only the splitter of special tokens finds it.
  bool stands_alone(int32_t id) const {
    return is_special(id) || kinds[id] == TokenKind::unknown || kinds[id] == TokenKind::user_defined;
  }
};

Vocabulary load_vocabulary(const GgufFile& file);

}  // namespace tandem
