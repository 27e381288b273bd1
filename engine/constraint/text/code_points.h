// Sets of Unicode characters, and characters as UTF-8.
//
// Contract: values. Sets hold scalar values alone: code points without surrogates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::constraint {

struct Character {
  char32_t code;
  size_t bytes;
};
std::optional<Character> first_character(std::string_view text);     // nothing: the text does not begin with one
std::optional<std::u32string> characters_of(std::string_view text);  // nothing: it is not UTF-8
void append_character(std::string& text, char32_t code);
inline bool is_surrogate(char32_t code) { return code >= 0xD800 && code <= 0xDFFF; }
inline constexpr char32_t kLastCharacter = 0x10FFFF;

class CharacterSet {
 public:
  struct Range {
    char32_t low, high;
    bool operator==(const Range&) const = default;
    auto operator<=>(const Range&) const = default;
  };
  CharacterSet() = default;
  CharacterSet(std::initializer_list<Range> ranges);
  explicit CharacterSet(std::vector<Range> ranges);  // in any order
  static CharacterSet all();
  static CharacterSet of(char32_t code) { return {{code, code}}; }

  CharacterSet complement() const;
  CharacterSet common_with(const CharacterSet& other) const;
  CharacterSet without(const CharacterSet& other) const { return common_with(other.complement()); }
  bool has(char32_t code) const;
  bool empty() const { return ranges_.empty(); }
  const std::vector<Range>& ranges() const { return ranges_; }  // sorted, with gaps between them
  bool operator==(const CharacterSet&) const = default;

 private:
  void tidy();
  std::vector<Range> ranges_;
};

}  // namespace tandem::constraint
