// Evaluates the expressions of a chat template, as far as ChatML templates need them for one user turn.
//
// Contract: grammar and precedence are Jinja's. Filters and methods that are not implemented here give Unknown.
// Tests that are not implemented are TemplateRefused, and so are tokens outside that grammar. One thread.
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

// Variables and their values. Each loop has its own scope.
class TemplateScopes {
 public:
  TemplateScopes() : scopes_(1) {}
  void enter() { scopes_.emplace_back(); }
  void leave() { scopes_.pop_back(); }
  void set(const std::string& name, TemplateValue value) { scopes_.back()[name] = std::move(value); }
  TemplateValue get(const std::string& name) const;  // Undefined if no scope has it

 private:
  std::vector<std::map<std::string, TemplateValue>> scopes_;
};

// Evaluates the expressions among a block's tokens, one after the other.
class TemplateExpressions {
 public:
  TemplateExpressions(std::span<const TemplateToken> tokens, const TemplateScopes& scopes)
      : tokens_(tokens), scopes_(scopes) {}

  TemplateValue next();  // the next expression's value
  bool at_end() const { return at_ == tokens_.size(); }
  bool take(std::string_view mark_or_word);  // moves past the next token if it is this one
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
