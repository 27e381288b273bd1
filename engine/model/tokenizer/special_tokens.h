// Finds tokens that stand for themselves in text: control tokens and added (user-defined) ones.
//
// Contract: longer tokens are found first, wherever they are. Tokens of one length are found from left to right.
// Refers to the vocabulary, which must outlive it. Thread-safe.
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

// Which tokens of a text are found: all; user-defined ones alone; of these, those that do not look like a mark of a
// chat template (<start_of_turn>, [INST]), as in what the people of a chat wrote.
enum class SpecialKinds { all, user_defined, no_marks };

// The text from its first character on that is no White_Space of Unicode.
std::string_view without_leading_white_space(std::string_view text);

class SpecialTokens {
 public:
  explicit SpecialTokens(const Vocabulary& vocabulary);

  std::vector<Fragment> split(std::string_view text, SpecialKinds kinds) const;

 private:
  // All tokens of one length. One pass over the text finds any of them.
  struct Level {
    size_t length;
    std::unordered_map<std::string_view, int32_t> ids;
    std::array<bool, 256> begins{};  // first bytes of the tokens
  };
  using Levels = std::vector<Level>;  // longest first
  static Levels build(const Vocabulary& vocabulary, SpecialKinds kinds);
  static void split_level(const Level& level, std::string_view text, std::vector<Fragment>& fragments);

  Levels all_, user_defined_, no_marks_;
};

}  // namespace tandem
