// Characters, and sets of them as sorted ranges. Sets have few ranges, whatever the number of characters in them.
#include "engine/constraint/text/code_points.h"

#include <algorithm>
#include <utility>

namespace tandem::constraint {

// Strict: shortest forms, no surrogates, nothing above the last character.
std::optional<Character> first_character(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) return Character{lead, 1};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return std::nullopt;
  char32_t code = lead & (0xFF >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xC0) != 0x80) return std::nullopt;
    code = code << 6 | (byte & 0x3F);
  }
  // A character must need its number of bytes: longer forms of it are not UTF-8.
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > kLastCharacter || is_surrogate(code)) return std::nullopt;
  return Character{code, bytes};
}

// Broken UTF-8 anywhere makes the whole text none.
std::optional<std::u32string> characters_of(std::string_view text) {
  std::u32string characters;
  while (!text.empty()) {
    const auto first = first_character(text);
    if (!first) return std::nullopt;
    characters.push_back(first->code);
    text.remove_prefix(first->bytes);
  }
  return characters;
}

void append_character(std::string& text, char32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  // The first byte says by its leading ones how many bytes follow; each of those carries six bits.
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr int kLead[] = {0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(static_cast<uint32_t>(kLead[more]) | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | (code >> (6 * i) & 0x3F));
}

CharacterSet::CharacterSet(std::initializer_list<Range> ranges) : ranges_(ranges) { tidy(); }

CharacterSet CharacterSet::all() { return {{0, kLastCharacter}}; }

// All ranges are sorted together, because a class may have many.
CharacterSet::CharacterSet(std::vector<Range> ranges) : ranges_(std::move(ranges)) { tidy(); }

// Sorts, joins what touches, and takes the surrogates out.
void CharacterSet::tidy() {
  std::vector<Range> parts;
  for (const Range& range : ranges_) {
    if (range.low < 0xD800) parts.push_back({range.low, std::min<char32_t>(range.high, 0xD7FF)});
    if (range.high > 0xDFFF) parts.push_back({std::max<char32_t>(range.low, 0xE000), range.high});
  }
  std::ranges::sort(parts);
  ranges_.clear();
  for (const Range& part : parts) {
    if (part.low > part.high) continue;
    if (!ranges_.empty() && part.low <= ranges_.back().high + 1)
      ranges_.back().high = std::max(ranges_.back().high, part.high);
    else
      ranges_.push_back(part);
  }
}

// The gaps between the ranges are the complement, without the surrogates, which tidy() takes out.
CharacterSet CharacterSet::complement() const {
  CharacterSet rest;
  char32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.low > next) rest.ranges_.push_back({next, range.low - 1});
    next = range.high + 1;
  }
  if (next <= kLastCharacter) rest.ranges_.push_back({next, kLastCharacter});
  rest.tidy();
  return rest;
}

// Both lists are sorted, so one walk along both finds what they share.
CharacterSet CharacterSet::common_with(const CharacterSet& other) const {
  CharacterSet common;
  size_t a = 0, b = 0;
  while (a < ranges_.size() && b < other.ranges_.size()) {
    const char32_t low = std::max(ranges_[a].low, other.ranges_[b].low);
    const char32_t high = std::min(ranges_[a].high, other.ranges_[b].high);
    if (low <= high) common.ranges_.push_back({low, high});
    ranges_[a].high < other.ranges_[b].high ? ++a : ++b;
  }
  return common;
}

bool CharacterSet::has(char32_t code) const {
  return std::ranges::any_of(ranges_, [code](const Range& range) { return range.low <= code && code <= range.high; });
}

}  // namespace tandem::constraint
