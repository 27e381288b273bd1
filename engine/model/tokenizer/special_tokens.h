// Finds tokens that stand for themselves in text: control tokens and added (user-defined) ones.
//
// Contract: longer tokens are found first, wherever they are. Tokens of one length are found from left to right.
// User-defined tokens are always found, control and unknown tokens only on request. Refers to the vocabulary, which
// must outlive it. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/model/tokenizer/vocabulary.h"

namespace tandem {

// A stretch of plain text, or a token (id >= 0).
struct Fragment {
  std::string_view text;
  int32_t id = -1;
};

class SpecialTokens {
 public:
  explicit SpecialTokens(const Vocabulary& vocabulary);

  std::vector<Fragment> split(std::string_view text, bool parse_special) const;

 private:
  // All tokens of one length. One pass over the text finds any of them.
  struct Level {
    size_t length;
    std::unordered_map<std::string_view, int32_t> ids;
    std::array<bool, 256> begins{};  // first bytes of the tokens
  };
  using Levels = std::vector<Level>;  // longest first
  static Levels build(const Vocabulary& vocabulary, bool with_control);
  static void split_level(const Level& level, std::string_view text, std::vector<Fragment>& fragments);

  Levels user_defined_, all_;
};

}  // namespace tandem
