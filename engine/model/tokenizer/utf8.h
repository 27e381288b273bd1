// Reading UTF-8 that may be broken.
//
// Contract: strict (no overlong forms, no surrogates, nothing above U+10FFFF); never reads past the end of the view.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tandem::utf8 {

enum class Kind { character, invalid, unfinished };

// The first character of `bytes` (not empty): its length in bytes. invalid: the longest part that no character can
// start with, at least one byte. unfinished: `bytes` ends inside a character that is right so far.
struct Step {
  size_t length;
  Kind kind;
};
Step step(std::string_view bytes);

// The code point of one whole character.
char32_t code_point(std::string_view character);
void append(std::string& text, char32_t code_point);

// A copy of the same length in which every byte that belongs to no character is `stand_in`.
std::string masked(std::string_view bytes, char stand_in);

}  // namespace tandem::utf8

namespace tandem {

// Text of tokens that come one by one: passes on only whole UTF-8 characters: bytes of an unfinished one wait for the
// rest. flush() gives what is left, invalid bytes replaced by U+FFFD.
class Utf8Stream {
 public:
  std::string push(std::string_view bytes);
  std::string flush();

 private:
  std::string pending_;
};

}  // namespace tandem
