// Cuts the source of a template into tokens, as Jinja does with trim_blocks and lstrip_blocks.
//
// Contract: valid UTF-8. Line ends become \n, and one at the end of the source goes. Fault with its line for anything
// that is no token. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/model/chat_template/integer.h"

namespace tandem::chat {

struct Token {
  enum class Kind { data, variable_begin, variable_end, block_begin, block_end, name, string, whole, real, mark, end };
  Kind kind = Kind::end;
  std::string text;  // of data, names, strings (without quotes and escapes) and marks
  Integer whole{};
  double real = 0;
  int line = 1;
};

std::vector<Token> tokens_of(std::string_view source);

}  // namespace tandem::chat
