// A value of a chat template.
//
// Contract: Unknown is what a template computes by means that are not built here. Whatever is made of it is unknown
// too, so it matters only where it would be printed or decide something. Lists and fields are shared by the values that
// name them, as in Jinja: `set ns.found = true` is seen by everybody who has ns.
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
  std::string what;  // for people: what is not built
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

// Nothing: unknown.
std::optional<bool> truth(const TemplateValue& value);
// The same. TemplateRefused where it is unknown.
bool is_true(const TemplateValue& value);
// As it is printed. TemplateRefused where it is unknown, or printed otherwise than as a text or a number.
MarkedText printed(const TemplateValue& value);

// Jinja's operators. Unknown where an operand is, or where they are not built for such operands.
TemplateValue negated(const TemplateValue& value);
TemplateValue equal(const TemplateValue& a, const TemplateValue& b);
TemplateValue contains(const TemplateValue& whole, const TemplateValue& part);
TemplateValue ordered(const TemplateValue& a, const TemplateValue& b, std::string_view mark);  // < <= > >=
TemplateValue added(const TemplateValue& a, const TemplateValue& b, bool minus);
TemplateValue multiplied(const TemplateValue& a, const TemplateValue& b, std::string_view mark);  // * / // %
TemplateValue joined(const TemplateValue& a, const TemplateValue& b);                             // ~

inline constexpr std::string_view kTemplateBlanks = " \t\n\r\v\f";
// Characters of `which` go from the beginning, the end, or both.
MarkedText stripped(MarkedText text, std::string_view which, bool left, bool right);
std::optional<int64_t> length_of(const TemplateValue& value);  // of a list, fields, or a text's characters

}  // namespace tandem
