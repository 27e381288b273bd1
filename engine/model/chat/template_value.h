// A value of a chat template.
//
// Contract: Unknown is the result of anything that is not implemented here. Whatever is computed from it is Unknown
// too. It matters only when a template prints it or branches on it. Several values may share a list or fields, as in
// Jinja: `set ns.found = true` is seen through every name of ns.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/model/chat/marked_text.h"

namespace tandem {

struct TemplateValue;
struct Unknown {
  std::string what;  // for people: what is not implemented
};
struct Undefined {};
struct None {};
using TemplateList = std::shared_ptr<std::vector<TemplateValue>>;
using TemplateFields = std::shared_ptr<std::map<std::string, TemplateValue>>;

struct TemplateValue {
  std::variant<Undefined, Unknown, None, bool, int64_t, MarkedText, TemplateList, TemplateFields> of;

  template <typename T>
  const T* as() const {
    return std::get_if<T>(&of);
  }
};

TemplateValue unknown(std::string what);

// Absent: unknown.
std::optional<bool> truth(const TemplateValue& value);
// The same, but TemplateRefused if the value is unknown.
bool is_true(const TemplateValue& value);
// The value as Jinja prints it. TemplateRefused if it is unknown, or is neither a text nor a number.
MarkedText printed(const TemplateValue& value);

// Jinja's operators. Unknown if an operand is, or if the operator is not implemented for such operands.
TemplateValue negated(const TemplateValue& value);
TemplateValue equal(const TemplateValue& a, const TemplateValue& b);
TemplateValue contains(const TemplateValue& whole, const TemplateValue& part);
TemplateValue ordered(const TemplateValue& a, const TemplateValue& b, std::string_view mark);  // < <= > >=
TemplateValue added(const TemplateValue& a, const TemplateValue& b, bool minus);
TemplateValue multiplied(const TemplateValue& a, const TemplateValue& b, std::string_view mark);  // * / // %
TemplateValue joined(const TemplateValue& a, const TemplateValue& b);                             // ~

inline constexpr std::string_view kTemplateBlanks = " \t\n\r\v\f";
// Removes characters of `which` at the beginning, the end, or both.
MarkedText stripped(MarkedText text, std::string_view which, bool left, bool right);
std::optional<int64_t> length_of(const TemplateValue& value);  // of a list, fields, or a text in characters

}  // namespace tandem
