// What Python's str knows about characters: classes, cases, spaces and line ends. PCRE2 has Unicode's classes, and the
// cases that it lacks stand in a table here.
#include "engine/model/chat_template/characters.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "engine/model/tokenizer/utf8.h"
#include "sync/error.h"

namespace tandem::chat {
namespace {

// Characters whose upper case or title case PCRE2 does not know: "character/upper/title ". Most become more than one
// character (the mappings of Unicode's SpecialCasing.txt that hold in every language). PCRE2 joins the last ones with
// all that fold to the same character, and goes from one to the next: from μ to the micro sign, and not to Μ.
constexpr std::string_view kSpecialCases =
    "ß/SS/Ss ŉ/ʼN/ʼN ǰ/J̌/J̌ ΐ/Ϊ́/Ϊ́ ΰ/Ϋ́/Ϋ́ և/ԵՒ/Եւ ẖ/H̱/H̱ ẗ/T̈/T̈ ẘ/W̊/W̊ ẙ/Y̊/Y̊ "
    "ẚ/Aʾ/Aʾ ὐ/Υ̓/Υ̓ ὒ/Υ̓̀/Υ̓̀ ὔ/Υ̓́/Υ̓́ ὖ/Υ̓͂/Υ̓͂ ᾀ/ἈΙ/ᾈ ᾁ/ἉΙ/ᾉ ᾂ/ἊΙ/ᾊ ᾃ/ἋΙ/ᾋ ᾄ/ἌΙ/ᾌ "
    "ᾅ/ἍΙ/ᾍ ᾆ/ἎΙ/ᾎ ᾇ/ἏΙ/ᾏ ᾈ/ἈΙ/ᾈ ᾉ/ἉΙ/ᾉ ᾊ/ἊΙ/ᾊ ᾋ/ἋΙ/ᾋ ᾌ/ἌΙ/ᾌ ᾍ/ἍΙ/ᾍ ᾎ/ἎΙ/ᾎ ᾏ/ἏΙ/ᾏ ᾐ/ἨΙ/ᾘ "
    "ᾑ/ἩΙ/ᾙ ᾒ/ἪΙ/ᾚ ᾓ/ἫΙ/ᾛ ᾔ/ἬΙ/ᾜ ᾕ/ἭΙ/ᾝ ᾖ/ἮΙ/ᾞ ᾗ/ἯΙ/ᾟ ᾘ/ἨΙ/ᾘ ᾙ/ἩΙ/ᾙ ᾚ/ἪΙ/ᾚ ᾛ/ἫΙ/ᾛ ᾜ/ἬΙ/ᾜ "
    "ᾝ/ἭΙ/ᾝ ᾞ/ἮΙ/ᾞ ᾟ/ἯΙ/ᾟ ᾠ/ὨΙ/ᾨ ᾡ/ὩΙ/ᾩ ᾢ/ὪΙ/ᾪ ᾣ/ὫΙ/ᾫ ᾤ/ὬΙ/ᾬ ᾥ/ὭΙ/ᾭ ᾦ/ὮΙ/ᾮ ᾧ/ὯΙ/ᾯ ᾨ/ὨΙ/ᾨ "
    "ᾩ/ὩΙ/ᾩ ᾪ/ὪΙ/ᾪ ᾫ/ὫΙ/ᾫ ᾬ/ὬΙ/ᾬ ᾭ/ὭΙ/ᾭ ᾮ/ὮΙ/ᾮ ᾯ/ὯΙ/ᾯ ᾲ/ᾺΙ/Ὰͅ ᾳ/ΑΙ/ᾼ ᾴ/ΆΙ/Άͅ ᾶ/Α͂/Α͂ "
    "ᾷ/Α͂Ι/ᾼ͂ ᾼ/ΑΙ/ᾼ ῂ/ῊΙ/Ὴͅ ῃ/ΗΙ/ῌ ῄ/ΉΙ/Ήͅ ῆ/Η͂/Η͂ ῇ/Η͂Ι/ῌ͂ ῌ/ΗΙ/ῌ ῒ/Ϊ̀/Ϊ̀ "
    "ΐ/Ϊ́/Ϊ́ ῖ/Ι͂/Ι͂ ῗ/Ϊ͂/Ϊ͂ ῢ/Ϋ̀/Ϋ̀ ΰ/Ϋ́/Ϋ́ ῤ/Ρ̓/Ρ̓ ῦ/Υ͂/Υ͂ ῧ/Ϋ͂/Ϋ͂ ῲ/ῺΙ/Ὼͅ "
    "ῳ/ΩΙ/ῼ ῴ/ΏΙ/Ώͅ ῶ/Ω͂/Ω͂ ῷ/Ω͂Ι/ῼ͂ ῼ/ΩΙ/ῼ ﬀ/FF/Ff ﬁ/FI/Fi ﬂ/FL/Fl ﬃ/FFI/Ffi ﬄ/FFL/Ffl "
    "ﬅ/ST/St ﬆ/ST/St ﬓ/ՄՆ/Մն ﬔ/ՄԵ/Մե ﬕ/ՄԻ/Մի ﬖ/ՎՆ/Վն ﬗ/ՄԽ/Մխ "
    "\u00B5/Μ/Μ ı/I/I ſ/S/S ǅ/Ǆ/ǅ ǈ/Ǉ/ǈ ǋ/Ǌ/ǋ ǲ/Ǳ/ǲ \u0345/Ι/Ι ι/Ι/Ι \u03BC/Μ/Μ ς/Σ/Σ ϐ/Β/Β ϑ/Θ/Θ ϕ/Φ/Φ ϖ/Π/Π ϰ/Κ/Κ "
    "ϱ/Ρ/Ρ "
    "ϵ/Ε/Ε \u1C80/В/В \u1C81/Д/Д \u1C82/О/О \u1C83/С/С \u1C84/Т/Т \u1C85/Т/Т \u1C86/Ъ/Ъ \u1C87/Ѣ/Ѣ \u1C88/Ꙋ/Ꙋ "
    "ẛ/Ṡ/Ṡ \u1FBE/Ι/Ι ꙋ/Ꙋ/Ꙋ ";

// Numbers and circled letters have cases and are no letters, and PCRE2 leaves them as they are.
struct ShiftedCase {
  char32_t first_upper, last_upper, shift;
};
constexpr ShiftedCase kShiftedCases[] = {{0x2160, 0x216F, 0x10}, {0x24B6, 0x24CF, 0x1A}};

struct SpecialCase {
  std::string upper, title;
};

// The table is parsed when the first text beyond ASCII changes its case.
const std::map<char32_t, SpecialCase>& special_cases() {
  static const std::map<char32_t, SpecialCase> table = [] {
    std::map<char32_t, SpecialCase> made;
    for (std::string_view rest = kSpecialCases; !rest.empty();) {
      const std::string_view entry = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
      const size_t first = entry.find('/'), second = entry.find('/', first + 1);
      made[utf8::code_point(entry.substr(0, first))] = {std::string(entry.substr(first + 1, second - first - 1)),
                                                        std::string(entry.substr(second + 1))};
    }
    return made;
  }();
  return table;
}

struct FreePattern {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
using Pattern = std::unique_ptr<pcre2_code, FreePattern>;

PCRE2_SPTR unicode_bytes(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

// Patterns are constants of this file, so a failure means that PCRE2 is too old.
Pattern compiled(const char* pattern) {
  int error = 0;
  PCRE2_SIZE at = 0;
  Pattern code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern), PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP,
                             &error, &at, nullptr));
  if (!code) throw Error("PCRE2 does not know a class of characters", pattern, "PCRE2 10.40 or later is needed");
  return code;
}

struct FreeMatch {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

// The texts come from this folder and are valid UTF-8, so PCRE2 need not check them again.
bool matches(const Pattern& code, std::string_view text) {
  const std::unique_ptr<pcre2_match_data, FreeMatch> data(pcre2_match_data_create(1, nullptr));
  return pcre2_match(code.get(), unicode_bytes(text), text.size(), 0, PCRE2_NO_UTF_CHECK, data.get(), nullptr) >= 0;
}

// PCRE2 is asked about texts, so a character becomes one.
std::string utf8_of(char32_t c) {
  std::string bytes;
  utf8::append(bytes, c);
  return bytes;
}

// One character to one: Unicode's simple mappings.
std::string simply_cased(std::string_view text, char32_t c, Case wanted) {
  for (const auto& [first, last, shift] : kShiftedCases) {
    if (wanted == Case::lower && c >= first && c <= last) return utf8_of(c + shift);
    if (wanted == Case::upper && c >= first + shift && c <= last + shift) return utf8_of(c - shift);
  }
  static const Pattern all = compiled("(?s).+");
  const auto* change = reinterpret_cast<PCRE2_SPTR>(wanted == Case::upper ? "\\U$0" : "\\L$0");
  std::string result(text.size() * 2 + 16, '\0');  // no mapping makes two bytes of one
  PCRE2_SIZE length = result.size();
  const int count = pcre2_substitute(all.get(), unicode_bytes(text), text.size(), 0,
                                     PCRE2_NO_UTF_CHECK | PCRE2_SUBSTITUTE_EXTENDED, nullptr, nullptr, change,
                                     PCRE2_ZERO_TERMINATED, reinterpret_cast<PCRE2_UCHAR*>(result.data()), &length);
  if (count < 0) throw Error("cannot change the case of a text", std::string(text.substr(0, 80)));
  result.resize(length);
  return result;
}

// Whether a Σ between these two texts ends a word: a cased character is before it and none behind it.
bool is_final(std::string_view before, std::string_view behind) {
  bool left = false, right = false;
  while (!before.empty()) {
    size_t last = before.size() - 1, next = 0;
    while ((before[last] & 0xC0) == 0x80) --last;
    next = last;
    const char32_t c = next_character(before, next);
    before = before.substr(0, last);
    if (is(CharacterClass::ignorable, c)) continue;
    left = is(CharacterClass::cased, c);
    break;
  }
  for (size_t at = 0; at < behind.size();) {
    const char32_t c = next_character(behind, at);
    if (is(CharacterClass::ignorable, c)) continue;
    right = is(CharacterClass::cased, c);
    break;
  }
  return left && !right;
}

}  // namespace

// The lead byte tells the length, and each further byte carries six bits.
char32_t next_character(std::string_view text, size_t& place) {
  const auto lead = static_cast<unsigned char>(text[place]);
  const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t c = lead;
  if (length > 1) c = lead & (0xFFU >> (length + 1));
  for (size_t i = 1; i < length; ++i) c = c << 6 | (static_cast<unsigned char>(text[place + i]) & 0x3FU);
  place += length;
  return c;
}

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

// Templates count characters, and texts are bytes. So an index is turned into a place by a walk.
size_t place_of(std::string_view text, size_t index) {
  size_t place = 0;
  while (place < text.size() && index-- > 0) next_character(text, place);
  return place;
}

// For many indices of one text, all places at once are cheaper than a walk for each.
std::vector<size_t> places_of(std::string_view text) {
  std::vector<size_t> places;
  for (size_t place = 0; place < text.size(); ++place)
    if ((text[place] & 0xC0) != 0x80) places.push_back(place);
  places.push_back(text.size());
  return places;
}

// The characters that Python's str.isspace() knows, which include the four separators from 0x1C on.
bool is_space(char32_t c) { return utf8::is_white_space(c) || (c >= 0x1C && c <= 0x1F); }

// The characters at which str.splitlines() cuts.
bool ends_line(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

// A character that repr() shows as itself: neither a control character nor a separator other than the blank.
bool is_printable(char32_t c) {
  if (c < 0x7F) return c >= 0x20;
  static const Pattern hidden = compiled("[\\p{C}\\p{Z}]");
  return !matches(hidden, utf8_of(c));
}

// Digits that are not decimal, such as ² and ①: Unicode's Numeric_Type=Digit.
bool is_digit(char32_t c) {
  static constexpr std::pair<char32_t, char32_t> kDigits[] = {
      {0xB2, 0xB3},     {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},   {0x2070, 0x2070},
      {0x2074, 0x2079}, {0x2080, 0x2089},   {0x2460, 0x2468},   {0x2474, 0x247C},   {0x2488, 0x2490},
      {0x24EA, 0x24EA}, {0x24F5, 0x24FD},   {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},
      {0x278A, 0x2792}, {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}};
  const auto has = [c](const auto& range) { return c >= range.first && c <= range.second; };
  return std::ranges::any_of(kDigits, has) || is(CharacterClass::decimal, c);
}

// Decimal digits stand in runs of ten from zero on, and some runs touch.
std::string with_ascii_digits(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    char32_t first = c;
    while (c >= 0x80 && is(CharacterClass::decimal, first)) --first;
    result += static_cast<char>(c < 0x80 ? c : first == c ? U'?' : U'0' + (c - first - 1) % 10);
  }
  return result;
}

// One compiled pattern for each class, made at first use and shared by all templates.
bool is(CharacterClass wanted, char32_t c) {
  // In the order of the enumeration.
  static const std::array<Pattern, 11> patterns = {compiled("\\p{L}"),
                                                   compiled("\\p{Nd}"),
                                                   compiled("[\\p{Lowercase}\\p{Uppercase}\\p{Lt}]"),
                                                   compiled("\\p{Lowercase}"),
                                                   compiled("\\p{Uppercase}"),
                                                   compiled("\\p{Lt}"),
                                                   compiled("\\p{Case_Ignorable}"),
                                                   compiled("\\p{N}"),
                                                   compiled("[\\p{L}\\p{N}_]"),
                                                   compiled("[_\\p{XID_Start}]"),
                                                   compiled("\\p{XID_Continue}")};
  return matches(patterns[static_cast<size_t>(wanted)], utf8_of(c));
}

// Most texts are ASCII, so PCRE2 is asked only beyond it. Two characters need their context: Σ, and İ,
// which becomes two.
std::string in_case(std::string_view text, size_t begin, size_t end, Case wanted) {
  size_t at = begin;
  const char32_t c = next_character(text, at);
  if (c < 0x80) {
    const bool changes = wanted == Case::upper ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z';
    return std::string(1, static_cast<char>(changes ? c ^ 0x20 : c));
  }
  const auto special = special_cases().find(c);
  if (wanted == Case::upper && special != special_cases().end()) return special->second.upper;
  if (wanted == Case::lower && c == 0x3A3)
    return is_final(text.substr(0, begin), text.substr(end)) ? "\u03C2" : "\u03C3";
  if (wanted == Case::lower && c == 0x130) return "i\u0307";
  return simply_cased(text.substr(begin, end - begin), c, wanted);
}

// Characters change one by one, because some become two, and a sigma depends on its neighbours.
std::string in_case(std::string_view text, Case wanted) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    next_character(text, at);
    result += in_case(text, begin, at, wanted);
  }
  return result;
}

// The first letter of a word has a form of its own for some characters: ǆ becomes ǅ and not Ǆ.
std::string titled(char32_t c) {
  const auto special = special_cases().find(c);
  if (special != special_cases().end()) return special->second.title;
  // Letters that are two in one, and Georgian, whose words have no capitals.
  if (c >= 0x1C4 && c <= 0x1CC) return utf8_of(c <= 0x1C6 ? 0x1C5 : c <= 0x1C9 ? 0x1C8 : 0x1CB);
  if (c >= 0x1F1 && c <= 0x1F3) return utf8_of(0x1F2);
  if (c >= 0x10D0 && c <= 0x10FF) return utf8_of(c);
  return in_case(utf8_of(c), Case::upper);
}

}  // namespace tandem::chat
