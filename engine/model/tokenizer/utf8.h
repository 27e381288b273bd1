// Reads UTF-8 that may be broken.
//
// Contract: strict: no overlong forms, no surrogates, nothing above U+10FFFF. Never reads past the end of the view.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tandem::utf8 {

enum class Kind { character, invalid, unfinished };

// The first character of `bytes` (not empty), with its length in bytes. invalid: the longest part that begins no
// character, at least one byte. unfinished: `bytes` ends inside a character that is valid so far.
struct Step {
  size_t length;
  Kind kind;
};
Step step(std::string_view bytes);

// The code point of one whole character.
char32_t code_point(std::string_view character);
void append(std::string& text, char32_t code_point);
bool is_white_space(char32_t c);  // Unicode's property White_Space

// A copy of the same length, in which every byte outside a character is `stand_in`.
std::string masked(std::string_view bytes, char stand_in);
bool is_valid(std::string_view bytes);  // whether all of it is characters

}  // namespace tandem::utf8

namespace tandem {

// Collects the text of tokens that come one by one, and passes on only whole UTF-8 characters. The bytes of an
// unfinished character wait for the rest. Invalid bytes become U+FFFD; flush() replaces an unfinished character in
// the same way.
class Utf8Stream {
 public:
  std::string push(std::string_view bytes);
  std::string flush();

 private:
  std::string pending_;
};

}  // namespace tandem
