// What BERT's tokenizers know about characters: which are removed, folded to other letters, or stand alone. A script
// has recorded the tables (bert_tables.cpp).
#include "engine/model/tokenizer/bert_characters.h"

#include <algorithm>

namespace tandem::bert_characters {
namespace {

// The entry that may have the character: the last one that begins at it or before it. nullptr: none.
template <typename Entry>
const Entry* entry_of(const std::vector<Entry>& all, char32_t c, char32_t Entry::*first) {
  const auto behind = std::ranges::upper_bound(all, c, {}, first);
  return behind == all.begin() ? nullptr : &*std::prev(behind);
}

bool is_in(const std::vector<Range>& ranges, char32_t c) {
  const Range* range = entry_of(ranges, c, &Range::first);
  return range != nullptr && c <= range->last;
}

// Syllables of Hangul are numbered: 19 leading, 21 vowels, 28 trailing letters, the first of which is none.
constexpr char32_t kSyllables = 0xAC00, kLastSyllable = 0xD7A3, kLeading = 0x1100, kVowels = 0x1161, kTrailing = 0x11A7;
constexpr char32_t kVowelCount = 21, kTrailingCount = 28;

// A syllable's number is (leading * 21 + vowel) * 28 + trailing, so its letters are the digits of it.
void append_letters(std::u32string& text, char32_t syllable) {
  const char32_t index = syllable - kSyllables, trailing = index % kTrailingCount;
  text += kLeading + index / (kVowelCount * kTrailingCount);
  text += kVowels + index / kTrailingCount % kVowelCount;
  if (trailing > 0) text += kTrailing + trailing;
}

// Several folds may overlap where one has a step of two, so the neighbours are looked at too.
char32_t folded(char32_t c) {
  const std::vector<Fold>& all = folds();
  auto at = std::ranges::upper_bound(all, c, {}, &Fold::first);
  for (int i = 0; i < 3 && at != all.begin(); ++i) {
    const Fold& fold = *--at;
    if (c <= fold.last && (c - fold.first) % static_cast<char32_t>(fold.step) == 0)
      return static_cast<char32_t>(static_cast<int32_t>(c) + fold.delta);
  }
  return c;
}

}  // namespace

bool is_removed(char32_t c) { return is_in(removed(), c); }
bool is_ideograph(char32_t c) { return is_in(ideographs(), c); }
bool is_punctuation(char32_t c) { return is_in(punctuation(), c); }

// White space by Unicode's class of separators, with the tab, the line feed and the carriage return.
bool is_space(char32_t c) {
  constexpr Range kSpaces[] = {{0x9, 0xA},       {0xD, 0xD},       {0x20, 0x20},     {0xA0, 0xA0},
                               {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                               {0x205F, 0x205F}, {0x3000, 0x3000}};
  return std::ranges::any_of(kSpaces, [c](const Range& range) { return c >= range.first && c <= range.last; });
}

// Hangul is taken apart by arithmetic, accents are dropped, and the rest follows the tables.
void append_folded(std::u32string& text, char32_t c) {
  if (c >= kSyllables && c <= kLastSyllable) return append_letters(text, c);
  if (is_in(marks(), c)) return;
  const Parts* several = entry_of(parts(), c, &Parts::character);
  if (several != nullptr && several->character == c)
    text += several->parts;
  else
    text += folded(c);
}

}  // namespace tandem::bert_characters
