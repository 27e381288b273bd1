#include "engine/model/chat/template_blocks.h"

#include <algorithm>
#include <cctype>

namespace tandem {
namespace {

using Token = TemplateToken;

constexpr std::string_view kBlanks = " \t\r\n\v\f";
// Longer marks first, because the first match counts.
constexpr std::string_view kMarks[] = {"==", "!=", "<=", ">=", "//", "**", "+", "-", "~", "*", "/", "%", "<",
                                       ">",  "=",  "(",  ")",  "[",  "]",  "{", "}", ".", ",", ":", "|"};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The character that a backslash and `c` mean in a quoted text.
std::string escaped(char c) {
  switch (c) {
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case 'r':
      return "\r";
    case '\\':
    case '\'':
    case '"':
      return std::string(1, c);
    default:
      throw TemplateRefused(std::string("the escape \\") + c);
  }
}

// Splits the inside of a block into tokens.
class Lexer {
 public:
  Lexer(std::string_view source, size_t at) : source_(source), at_(at) {}

  // Returns the tokens before `end`, and moves behind it. `strips` becomes the white-space mark before `end`, or 0.
  std::vector<Token> until(std::string_view end, char& strips) {
    std::vector<Token> tokens;
    for (;;) {
      at_ = std::min(source_.find_first_not_of(kBlanks, at_), source_.size());
      if (at_ == source_.size()) throw TemplateRefused("a block without its end");
      const char c = source_[at_];
      strips = (c == '-' || c == '+') && source_.substr(at_ + 1).starts_with(end) ? c : '\0';
      if (strips != '\0') ++at_;
      if (source_.substr(at_).starts_with(end)) break;
      tokens.push_back(next(source_[at_]));
    }
    at_ += end.size();
    return tokens;
  }
  size_t place() const { return at_; }

 private:
  // The first character decides. A quote begins a text; a letter or digit begins a run of both; anything else must be
  // a mark.
  Token next(char c) {
    if (c == '\'' || c == '"') return {Token::Kind::text, text(c)};
    const size_t from = at_;
    if (is_letter(c) || is_digit(c)) {
      while (at_ < source_.size() && (is_letter(source_[at_]) || is_digit(source_[at_]))) ++at_;
      return {is_digit(c) ? Token::Kind::number : Token::Kind::name, std::string(source_.substr(from, at_ - from))};
    }
    for (const std::string_view mark : kMarks) {
      if (!source_.substr(at_).starts_with(mark)) continue;
      at_ += mark.size();
      return {Token::Kind::mark, std::string(mark)};
    }
    throw TemplateRefused("the character " + std::string(1, c));
  }

  std::string text(char quote) {
    std::string value;
    for (++at_; at_ < source_.size(); ++at_) {
      if (source_[at_] == quote) {
        ++at_;
        return value;
      }
      if (source_[at_] != '\\')
        value += source_[at_];
      else if (++at_ < source_.size())
        value += escaped(source_[at_]);
    }
    throw TemplateRefused("a text without its end");
  }

  std::string_view source_;
  size_t at_;
};

// Removes the blanks between the beginning of a line and a block. `text` may begin within a line.
void strip_line_start(std::string& text, bool begins_line) {
  const size_t newline = text.rfind('\n');
  if (newline == std::string::npos && !begins_line) return;
  const size_t line = newline == std::string::npos ? 0 : newline + 1;
  if (text.find_first_not_of(" \t", line) == std::string::npos) text.resize(line);
}

// Position of the next `{{`, `{%` or `{#`.
size_t find_open(std::string_view source, size_t at) {
  for (; (at = source.find('{', at)) != std::string_view::npos; ++at)
    if (at + 1 < source.size() && std::string_view("{%#").find(source[at + 1]) != std::string_view::npos) break;
  return at;
}

}  // namespace

// Each round takes the text up to the next block, then the block. The white space before it depends on its opening
// mark, the white space behind it on its closing mark. Comments leave nothing but these effects.
std::vector<TemplateBlock> template_blocks(std::string_view source) {
  if (source.ends_with('\n')) source.remove_suffix(1);
  std::vector<TemplateBlock> blocks;
  size_t at = 0;
  while (at < source.size()) {
    const size_t open = find_open(source, at);
    std::string text(source.substr(at, std::min(open, source.size()) - at));
    if (open == std::string_view::npos) {
      blocks.push_back({TemplateBlock::Kind::text, std::move(text), {}});
      break;
    }
    const char kind = source[open + 1];
    const char mark = open + 2 < source.size() ? source[open + 2] : '\0';
    // `-` removes all blanks before the block. Without a mark, a statement or comment removes those at the beginning
    // of its line.
    if (mark == '-')
      text.erase(text.find_last_not_of(kBlanks) + 1);
    else if (mark != '+' && kind != '{')
      strip_line_start(text, at == 0 || source[at - 1] == '\n');
    if (!text.empty()) blocks.push_back({TemplateBlock::Kind::text, std::move(text), {}});

    const size_t inner = open + 2 + (mark == '-' || mark == '+' ? 1 : 0);
    char strips = '\0';
    if (kind == '#') {
      const size_t end = source.find("#}", inner);
      if (end == std::string_view::npos) throw TemplateRefused("a comment without its end");
      strips = source[end - 1] == '-' || source[end - 1] == '+' ? source[end - 1] : '\0';
      at = end + 2;
    } else {
      Lexer lexer(source, inner);
      std::vector<Token> tokens = lexer.until(kind == '%' ? "%}" : "}}", strips);
      if (tokens.empty()) throw TemplateRefused("an empty block");
      at = lexer.place();
      blocks.push_back(
          {kind == '%' ? TemplateBlock::Kind::statement : TemplateBlock::Kind::output, "", std::move(tokens)});
    }
    // `-` removes all blanks after the block. Without a mark, a statement or comment removes one newline.
    if (strips == '-')
      at = std::min(source.find_first_not_of(kBlanks, at), source.size());
    else if (strips != '+' && kind != '{' && source.substr(at).starts_with('\n'))
      ++at;
  }
  return blocks;
}

}  // namespace tandem
