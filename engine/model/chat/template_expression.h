// Computes the expressions of a chat template, as far as ChatML templates use them for one user's turn.
//
// Contract: grammar and precedence are Jinja's; tests, filters and methods that are not built here give Unknown, and
// what is no expression of that grammar is TemplateRefused. One thread.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/model/chat/template_blocks.h"
#include "engine/model/chat/template_value.h"

namespace tandem {

// Names and their values; a loop has a scope of its own.
class TemplateScopes {
 public:
  TemplateScopes() : scopes_(1) {}
  void enter() { scopes_.emplace_back(); }
  void leave() { scopes_.pop_back(); }
  void set(const std::string& name, TemplateValue value) { scopes_.back()[name] = std::move(value); }
  TemplateValue get(const std::string& name) const;  // Undefined where nobody has set it

 private:
  std::vector<std::map<std::string, TemplateValue>> scopes_;
};

// Reads one expression behind another of a block's tokens.
class TemplateExpressions {
 public:
  TemplateExpressions(std::span<const TemplateToken> tokens, const TemplateScopes& scopes)
      : tokens_(tokens), scopes_(scopes) {}

  TemplateValue next();  // an expression
  bool at_end() const { return at_ == tokens_.size(); }
  bool take(std::string_view mark_or_word);  // the next token, where it is this one
  void require(std::string_view mark_or_word);
  std::string name();

 private:
  bool is_next(std::string_view mark_or_word) const;
  TemplateValue either();
  TemplateValue both();
  TemplateValue negation();
  TemplateValue comparison();
  TemplateValue sum();
  TemplateValue joined_text();
  TemplateValue product();
  TemplateValue signed_value();
  TemplateValue primary();
  TemplateValue list();
  TemplateValue followed(TemplateValue value);
  TemplateValue subscript(const TemplateValue& value);
  TemplateValue member(const TemplateValue& value, const std::string& name);
  TemplateValue called(const TemplateValue& self, const std::string& name);
  TemplateValue filtered(const TemplateValue& value);
  TemplateValue tested(const TemplateValue& value);
  struct Arguments {
    std::vector<TemplateValue> values;
    std::map<std::string, TemplateValue> named;
  };
  Arguments arguments();

  std::span<const TemplateToken> tokens_;
  const TemplateScopes& scopes_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace tandem
