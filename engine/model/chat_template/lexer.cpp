// Cuts the source of a template into tokens. Outside of tags everything is text, and inside it is a small language
// like Python's.
#include "engine/model/chat_template/lexer.h"

#include <algorithm>
#include <cstdlib>

#include "engine/model/chat_template/characters.h"
#include "engine/model/chat_template/fault.h"
#include "engine/model/chat_template/operators.h"
#include "engine/model/tokenizer/utf8.h"
#include "sync/parse_number.h"

namespace tandem::chat {
namespace {

using Kind = Token::Kind;

// Longer marks first, because the first match counts.
constexpr std::string_view kMarks[] = {"==", "!=", ">=", "<=", "//", "**", "+", "-", "/", "*", "%", "~", "[",
                                       "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_base_digit(char c, int base) {
  if (base == 16) return std::isxdigit(static_cast<unsigned char>(c)) != 0;
  return c >= '0' && c < '0' + base;
}

// Jinja's rules for line ends: each kind becomes \n, and one \n at the end of the source is dropped.
std::string with_plain_newlines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    text += source[i] == '\r' ? '\n' : source[i];
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

// White space is Python's, which has more characters than ASCII's.
size_t end_of_space(std::string_view text, size_t at) {
  while (at < text.size()) {
    size_t next = at;
    if (!is_space(next_character(text, next))) break;
    at = next;
  }
  return at;
}

// A tag that begins with a minus sign removes the space in front of it, Unicode's space included.
std::string_view without_space_at_end(std::string_view text) {
  while (!text.empty()) {
    size_t last = text.size() - 1, next = 0;
    while ((text[last] & 0xC0) == 0x80) --last;
    next = last;
    if (!is_space(next_character(text, next))) break;
    text = text.substr(0, last);
  }
  return text;
}

// Reads the escapes of a quoted text by the rules of Python's "unicode-escape".
class Unescaping {
 public:
  Unescaping(std::string_view text, int line) : text_(text), line_(line) {}

  // A backslash begins an escape, and any other character stays.
  std::string all() {
    std::string value;
    while (at_ < text_.size()) {
      if (text_[at_] != '\\')
        value += text_[at_++];
      else
        escape(value);
    }
    return value;
  }

 private:
  // Python keeps a backslash in front of a letter that means nothing, and so does this.
  void escape(std::string& value) {
    if (++at_ == text_.size()) fail("a text that ends with a backslash", line_);
    if (text_[at_] < 0) return beyond_ascii(value);
    const char c = text_[at_++];
    constexpr std::string_view kLetters = "\\'\"abfnrtv", kMeanings = "\\'\"\a\b\f\n\r\t\v";
    if (const size_t known = kLetters.find(c); known != std::string_view::npos)
      value += kMeanings[known];
    else if (c == 'x')
      number(value, 2);
    else if (c == 'u')
      number(value, 4);
    else if (c == 'U')
      number(value, 8);
    else if (c >= '0' && c <= '7')
      octal(value, c);
    else if (c == 'N')
      fail_unknown("the escape \\N of a character's name", line_);
    else if (c != '\n')
      value.append({'\\', c});
  }

  // Jinja writes such characters as escapes first, so the backslash stays and doubles that of the escape.
  void beyond_ascii(std::string& value) {
    const char32_t c = next_character(text_, at_);
    char spelt[16];
    std::snprintf(spelt, sizeof spelt,
                  c < 0x100     ? "\\x%02x"
                  : c < 0x10000 ? "\\u%04x"
                                : "\\U%08x",
                  static_cast<unsigned>(c));
    value += spelt;
  }

  // \x, \u and \U have a fixed number of digits. Surrogates are refused, since UTF-8 has no bytes for them.
  void number(std::string& value, size_t digits) {
    const std::string_view part = text_.substr(at_, digits);
    const auto code = parse_number<uint32_t>(part, 16);
    if (part.size() < digits || !code || *code > 0x10FFFF) fail("a broken escape in a text", line_);
    if (*code >= 0xD800 && *code < 0xE000) fail_unknown("half of a pair of surrogates in a text", line_);
    utf8::append(value, static_cast<char32_t>(*code));
    at_ += digits;
  }

  // One to three octal digits are the number of a character.
  void octal(std::string& value, char first) {
    uint32_t code = static_cast<uint32_t>(first - '0');
    for (int i = 0; i < 2 && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '7'; ++i)
      code = code * 8 + static_cast<uint32_t>(text_[at_++] - '0');
    utf8::append(value, static_cast<char32_t>(code));
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_;
};

// Walks through the source once. Brackets are balanced here, because a tag's end may stand inside of a dict.
class Lexer {
 public:
  explicit Lexer(std::string_view source) : normal_(with_plain_newlines(source)), source_(normal_) {}

  std::vector<Token> all() {
    while (at_ < source_.size()) outside();
    add(Kind::end, "");
    return std::move(tokens_);
  }

 private:
  bool at(std::string_view text) const { return source_.substr(at_).starts_with(text); }
  void add(Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), {}, 0, line_}); }
  // Moves to a place and counts the lines on the way there.
  void move(size_t end) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    begins_line_ = end > at_ ? source_[end - 1] == '\n' : begins_line_;
    at_ = end;
  }

  // The text up to the next `{{`, `{%` or `{#`, and what begins there.
  void outside() {
    size_t open = at_;
    while ((open = source_.find('{', open)) != std::string_view::npos) {
      if (open + 1 < source_.size() && std::string_view("{%#").find(source_[open + 1]) != std::string_view::npos) break;
      ++open;
    }
    if (open == std::string_view::npos) {
      add(Kind::data, std::string(source_.substr(at_)));
      return move(source_.size());
    }
    const char kind = source_[open + 1];
    const char sign = sign_at(open + 2);
    data(open, sign, kind != '{');
    move(open + (sign == '\0' ? 2 : 3));
    if (kind == '#') return comment();
    if (kind == '%' && begins_raw()) return raw();
    inside(kind == '%');
  }

  // A minus or plus right behind an opening or before a closing mark decides about white space.
  char sign_at(size_t place) const {
    const char sign = place < source_.size() ? source_[place] : '\0';
    return sign == '-' || sign == '+' ? sign : '\0';
  }

  // `-` removes all white space before a tag. Without a sign, blocks and comments remove what is between the beginning
  // of their line and them.
  void data(size_t end, char sign, bool strips_line) {
    std::string_view text = source_.substr(at_, end - at_);
    if (sign == '-') {
      text = without_space_at_end(text);
    } else if (sign != '+' && strips_line) {
      const size_t line = text.rfind('\n') + 1;
      if ((line > 0 || begins_line_) && end_of_space(text, line) == text.size()) text = text.substr(0, line);
    }
    if (!text.empty()) add(Kind::data, std::string(text));
    move(end);
  }

  // The place behind a tag's closing mark `end`, and behind the white space that it removes. npos: no mark is here.
  size_t end_of_tag(std::string_view end, bool is_variable) const {
    const std::string_view rest = source_.substr(at_);
    const char sign = sign_at(at_);
    if (sign == '-' && rest.substr(1).starts_with(end)) return end_of_space(source_, at_ + 1 + end.size());
    if (sign == '+' && !is_variable && rest.substr(1).starts_with(end)) return at_ + 1 + end.size();
    if (!rest.starts_with(end)) return std::string_view::npos;
    const size_t behind = at_ + end.size();
    const bool trims = !is_variable && behind < source_.size() && source_[behind] == '\n';
    return behind + (trims ? 1 : 0);
  }

  // A comment may hold anything but its own end.
  void comment() {
    for (size_t place = at_;; ++place) {
      place = source_.find("#}", place);
      if (place == std::string_view::npos) fail("a comment without its end", line_);
      // A sign before the end belongs to it.
      const bool has_sign = place > at_ && (source_[place - 1] == '-' || source_[place - 1] == '+');
      move(has_sign ? place - 1 : place);
      return move(end_of_tag("#}", false));
    }
  }

  // Whether the block that begins here is `raw`; then it moves behind it.
  bool begins_raw() {
    const size_t word = end_of_space(source_, at_);
    if (!source_.substr(word).starts_with("raw")) return false;
    const size_t behind = end_of_space(source_, word + 3);
    size_t end = behind;
    if (source_.substr(behind).starts_with("-%}"))
      end = end_of_space(source_, behind + 3);
    else if (source_.substr(behind).starts_with("%}"))
      end = behind + 2;
    else
      return false;
    move(end);
    return true;
  }

  // Nothing within a raw block is a tag but its own end.
  void raw() {
    const int begin_line = line_;
    for (size_t open = at_; (open = source_.find("{%", open)) != std::string_view::npos; ++open) {
      const char sign = sign_at(open + 2);
      size_t word = end_of_space(source_, open + (sign == '\0' ? 2 : 3));
      if (!source_.substr(word).starts_with("endraw")) continue;
      word = end_of_space(source_, word + 6);
      const size_t before = std::exchange(at_, word);
      const size_t end = end_of_tag("%}", false);
      at_ = before;
      if (end == std::string_view::npos) continue;
      data(open, sign, true);
      return move(end);
    }
    fail("a `raw` block without its end", begin_line);
  }

  // The inside of a tag: tokens until its end. The end counts only outside of brackets.
  void inside(bool is_block) {
    add(is_block ? Kind::block_begin : Kind::variable_begin, "");
    const std::string_view end = is_block ? "%}" : "}}";
    std::string brackets;
    for (;;) {
      const size_t space = end_of_space(source_, at_);
      if (const size_t close = brackets.empty() ? end_of_tag(end, !is_block) : std::string_view::npos;
          close != std::string_view::npos) {
        add(is_block ? Kind::block_end : Kind::variable_end, "");
        return move(close);
      }
      if (space > at_) {
        move(space);
        continue;
      }
      if (at_ == source_.size()) fail("a block or expression without its end", line_);
      token(brackets);
    }
  }

  // Numbers come before names, because a name may hold digits but not begin with one.
  void token(std::string& brackets) {
    const char c = source_[at_];
    if (c == '\'' || c == '"') return quoted(c);
    if (is_digit(c) && number()) return;
    if (name()) return;
    for (const std::string_view mark : kMarks) {
      if (!at(mark)) continue;
      balance(mark[0], brackets);
      add(Kind::mark, std::string(mark));
      return move(at_ + mark.size());
    }
    size_t end = at_;
    next_character(source_, end);
    fail("the character " + std::string(source_.substr(at_, end - at_)) + " in an expression", line_);
  }

  // The stack of closing brackets that are expected. `}}` within brackets closes two of them and not the tag.
  void balance(char mark, std::string& brackets) const {
    if (mark == '(') brackets += ')';
    if (mark == '[') brackets += ']';
    if (mark == '{') brackets += '}';
    if (mark != ')' && mark != ']' && mark != '}') return;
    if (brackets.empty() || brackets.back() != mark) fail(std::string("a ") + mark + " without its beginning", line_);
    brackets.pop_back();
  }

  // A backslash hides the character behind it, so an escaped quote does not end the text.
  void quoted(char quote) {
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) fail("a text without its end", line_);
    add(Kind::string, Unescaping(source_.substr(at_ + 1, end - at_ - 1), line_).all());
    move(end + 1);
  }

  // Digits that single underscores divide; the place behind them.
  size_t end_of_digits(size_t place, int base) const {
    size_t end = place;
    while (end < source_.size()) {
      const size_t digit = source_[end] == '_' && end > place ? end + 1 : end;
      if (digit >= source_.size() || !is_base_digit(source_[digit], base)) break;
      end = digit + 1;
    }
    return end;
  }

  std::string digits(size_t begin, size_t end) const {
    std::string text(source_.substr(begin, end - begin));
    std::erase(text, '_');
    return text;
  }

  // A number behind a dot is an index, as in `a.0.1`, and no fraction.
  bool number() {
    const size_t whole = end_of_digits(at_, 10);
    if (at_ == 0 || source_[at_ - 1] != '.') {
      if (const size_t end = end_of_real(whole); end > whole) {
        const std::string text = digits(at_, end);
        add(Kind::real, text);
        tokens_.back().real = std::strtod(text.c_str(), nullptr);
        move(end);
        return true;
      }
    }
    const std::string_view rest = source_.substr(at_);
    if (rest.size() > 2 && rest[0] == '0') {
      const char letter = static_cast<char>(rest[1] | 0x20);
      const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
      const size_t first = at_ + 2 + (rest[2] == '_' ? 1 : 0), end = base == 0 ? first : end_of_digits(first, base);
      if (end > first) return add_whole(digits(first, end), base, end);
    }
    // A number may not begin with 0, except for 0 itself: Jinja reads 007 as 00 and 7.
    size_t end = whole;
    if (source_[at_] == '0') {
      end = at_ + 1;
      while (end < source_.size() &&
             (source_[end] == '0' || (source_[end] == '_' && end + 1 < source_.size() && source_[end + 1] == '0')))
        ++end;
    }
    return add_whole(digits(at_, end), 10, end);
  }

  // Whole numbers have any size, as in Python.
  bool add_whole(const std::string& text, int base, size_t end) {
    add(Kind::whole, text);
    tokens_.back().whole = *Integer::parse(text, base);
    move(end);
    return true;
  }

  // The end of a fraction, an exponent or both; `whole` if there are neither.
  size_t end_of_real(size_t whole) const {
    size_t end = whole;
    if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) end = end_of_digits(end + 1, 10);
    if (end < source_.size() && (source_[end] | 0x20) == 'e') {
      const size_t sign = end + 1 < source_.size() && (source_[end + 1] == '+' || source_[end + 1] == '-') ? 1 : 0;
      const size_t first = end + 1 + sign;
      if (first < source_.size() && is_digit(source_[first])) end = end_of_digits(first, 10);
    }
    return end;
  }

  // A name has letters, digits and underscores of any script, by Unicode's classes for identifiers.
  bool name() {
    size_t end = at_;
    while (end < source_.size()) {
      size_t next = end;
      const char32_t c = next_character(source_, next);
      const bool plain = c < 0x80 && (std::isalnum(static_cast<int>(c)) || c == '_');
      if (!plain && (c < 0x80 || !is(CharacterClass::word, c))) break;
      end = next;
    }
    if (end == at_) return false;
    add(Kind::name, std::string(source_.substr(at_, end - at_)));
    size_t first = at_;
    const char32_t c = next_character(source_, first);
    if (is_digit(source_[at_]) || (c >= 0x80 && !is(CharacterClass::name_start, c))) fail("a broken name", line_);
    move(end);
    return true;
  }

  const std::string normal_;
  const std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  bool begins_line_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) { return Lexer(source).all(); }

}  // namespace tandem::chat
