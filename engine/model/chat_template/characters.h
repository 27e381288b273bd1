// Characters as Python's str sees them: code points, their classes and their case.
//
// Contract: texts are valid UTF-8. Classes and cases are those of PCRE2's Unicode data (14 in Debian 12, as in Python
// 3.11). Pure and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::chat {

// The code point at a place, which moves behind it.
char32_t next_character(std::string_view text, size_t& place);
size_t count_characters(std::string_view text);
// Bytes before the character of that index; the text's size if there are fewer.
size_t place_of(std::string_view text, size_t index);
// The begin of each character, and the end of the text.
std::vector<size_t> places_of(std::string_view text);

bool is_space(char32_t c);      // str.isspace
bool ends_line(char32_t c);     // one of those at which splitlines() cuts
bool is_printable(char32_t c);  // repr() shows it as it is
bool is_digit(char32_t c);      // str.isdigit
// Digits of all scripts as those of ASCII, and each other character beyond ASCII as `?`, as int() and float() read it.
std::string with_ascii_digits(std::string_view text);
enum class CharacterClass { letter, decimal, cased, lower, upper, title, ignorable, numeric, word, name_start, name };
bool is(CharacterClass wanted, char32_t c);

enum class Case { lower, upper };
// Every character; Σ at the end of a word becomes ς.
std::string in_case(std::string_view text, Case wanted);
// The character [begin, end) of a text, which decides about Σ.
std::string in_case(std::string_view text, size_t begin, size_t end, Case wanted);
std::string titled(char32_t c);  // one character as the first of a word

}  // namespace tandem::chat
