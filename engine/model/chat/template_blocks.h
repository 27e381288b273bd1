// Splits a chat template into text, `{{ outputs }}` and `{% statements %}`, and splits the latter two into tokens.
//
// Contract: white space is removed as Transformers configures Jinja: trim_blocks, lstrip_blocks, the marks `-` and `+`,
// and one newline at the end. Comments are dropped. TemplateRefused if the text is no such template. Pure.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem {

// A template uses something that is not implemented here; what() names it.
class TemplateRefused : public std::exception {
 public:
  explicit TemplateRefused(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

struct TemplateToken {
  enum class Kind { name, text, number, mark } kind = Kind::mark;
  std::string text;  // for a text: its value
};

struct TemplateBlock {
  enum class Kind { text, output, statement } kind = Kind::text;
  std::string text;                   // for a text
  std::vector<TemplateToken> tokens;  // for the others; a statement has at least one

  bool is(std::string_view statement) const {
    return kind == Kind::statement && tokens.front().kind == TemplateToken::Kind::name &&
           tokens.front().text == statement;
  }
};

std::vector<TemplateBlock> template_blocks(std::string_view source);

}  // namespace tandem
