#include "tests/house/shader_tokens.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

namespace tandem::house {

namespace {

constexpr std::array<std::string_view, 21> kLongOperators = {
    "<<=", ">>=", "++", "--", "+=", "-=", "*=", "/=", "%=", "<<", ">>",
    "<=",  ">=",  "==", "!=", "&&", "||", "&=", "|=", "^=", "##"};

bool word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  ShaderTokens scan() {
    while (at_ < text_.size()) step();
    return std::move(result_);
  }

 private:
  void step() {
    char c = text_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
    } else if (text_.compare(at_, 2, "\\\n") == 0) {
      ++line_;
      at_ += 2;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++at_;
    } else if (text_.compare(at_, 2, "//") == 0) {
      size_t end = std::min(text_.find('\n', at_), text_.size());
      note_comment(text_.substr(at_ + 2, end - at_ - 2));
      at_ = end;
    } else if (text_.compare(at_, 2, "/*") == 0) {
      size_t end = std::min(text_.find("*/", at_ + 2), text_.size());
      note_comment(text_.substr(at_ + 2, end - at_ - 2));
      line_ += static_cast<int>(std::count(text_.begin() + at_, text_.begin() + end, '\n'));
      at_ = std::min(end + 2, text_.size());
    } else if (c == '#' && (result_.tokens.empty() || result_.tokens.back().line != line_)) {
      directive();
    } else {
      result_.tokens.push_back({std::string(next_text()), line_});
    }
  }

  std::string_view next_text() {
    size_t begin = at_;
    if (word_character(text_[at_])) {
      while (at_ < text_.size() && word_character(text_[at_])) ++at_;
    } else {
      ++at_;
      for (std::string_view op : kLongOperators) {
        if (text_.compare(begin, op.size(), op) == 0) {
          at_ = begin + op.size();
          break;
        }
      }
    }
    return text_.substr(begin, at_ - begin);
  }

  void note_comment(std::string_view comment) {
    size_t at = comment.find("trips <=");
    if (at != std::string_view::npos) result_.trip_bounds[line_] = std::string(comment.substr(at + 8));
  }

  // One preprocessor line, with its continuation lines.
  void directive() {
    std::string line;
    int first_line = line_;
    while (at_ < text_.size() && text_[at_] != '\n') {
      if (text_.compare(at_, 2, "\\\n") == 0) {
        line += ' ';
        ++line_;
        at_ += 2;
      } else {
        line += text_[at_++];
      }
    }
    Scanner inner(std::string_view(line).substr(1));
    inner.line_ = first_line;
    std::vector<Token> tokens = inner.scan().tokens;
    if (tokens.size() >= 2 && tokens[0] == "define") {
      size_t after_name = line.find(tokens[1].text, line.find("define") + 6) + tokens[1].text.size();
      Macro macro{{}, after_name < line.size() && line[after_name] == '(', first_line};
      size_t body = 2;
      if (macro.function_like) {
        while (body < tokens.size() && !(tokens[body] == ")")) ++body;
        ++body;
      }
      if (body < tokens.size()) macro.body.assign(tokens.begin() + static_cast<long>(body), tokens.end());
      result_.macros.emplace(tokens[1].text, std::move(macro));
    } else if (!tokens.empty() && tokens[0] == "include") {
      size_t open = line.find('"'), close = line.rfind('"');
      if (open != std::string::npos && close > open)
        result_.includes.push_back(line.substr(open + 1, close - open - 1));
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  ShaderTokens result_;
};

}  // namespace

ShaderTokens tokenize_shader(std::string_view text) { return Scanner(text).scan(); }

std::vector<Token> tokenize_expression(std::string_view text, int line) {
  std::vector<Token> tokens = Scanner(text).scan().tokens;
  for (Token& token : tokens) token.line = line;
  return tokens;
}

}  // namespace tandem::house
