// A chat template cut into text, `{{ outputs }}` and `{% statements %}`, and these into tokens.
//
// Contract: white space is taken away as Transformers asks of Jinja: trim_blocks, lstrip_blocks, the marks `-` and `+`,
// and one newline at the end. Comments are gone. TemplateRefused where the text is no such template. Pure.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem {

// A template uses something that is not computed here; what() says what.
class TemplateRefused : public std::exception {
 public:
  explicit TemplateRefused(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

struct TemplateToken {
  enum class Kind { name, text, number, mark } kind = Kind::mark;
  std::string text;  // of a text: its value
};

struct TemplateBlock {
  enum class Kind { text, output, statement } kind = Kind::text;
  std::string text;                   // of a text
  std::vector<TemplateToken> tokens;  // of the others; a statement has at least one

  bool is(std::string_view statement) const {
    return kind == Kind::statement && tokens.front().kind == TemplateToken::Kind::name &&
           tokens.front().text == statement;
  }
};

std::vector<TemplateBlock> template_blocks(std::string_view source);

}  // namespace tandem
