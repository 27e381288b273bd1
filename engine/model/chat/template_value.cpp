#include "engine/model/chat/template_value.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/model/chat/template_blocks.h"

namespace tandem {
namespace {

constexpr size_t kMostBytes = size_t{1} << 22;  // of a text that a template builds

// The first unknown operand; absent if both are known.
std::optional<TemplateValue> unknown_among(const TemplateValue& a, const TemplateValue& b) {
  if (a.as<Unknown>()) return a;
  if (b.as<Unknown>()) return b;
  return std::nullopt;
}

// The limit stops templates that double a text again and again.
TemplateValue join_texts(const TemplateValue& a, const TemplateValue& b) {
  const auto *left = a.as<MarkedText>(), *right = b.as<MarkedText>();
  if (left->bytes() + right->bytes() > kMostBytes) throw TemplateRefused("a text that grows without end");
  MarkedText both = *left;
  both.append(*right);
  return {both};
}

}  // namespace

TemplateValue unknown(std::string what) { return {Unknown{std::move(what)}}; }

// Truth as in Python: false, zero, empty, none and undefined are false. Absent for an unknown value.
std::optional<bool> truth(const TemplateValue& value) {
  if (value.as<Unknown>()) return std::nullopt;
  if (value.as<Undefined>() || value.as<None>()) return false;
  if (const bool* b = value.as<bool>()) return *b;
  if (const auto* number = value.as<int64_t>()) return *number != 0;
  if (const auto* text = value.as<MarkedText>()) return text->bytes() > 0;
  if (const auto* list = value.as<TemplateList>()) return !(*list)->empty();
  return !(*value.as<TemplateFields>())->empty();
}

bool is_true(const TemplateValue& value) {
  if (const auto* missing = value.as<Unknown>()) throw TemplateRefused(missing->what);
  return *truth(value);
}

// Jinja would print other values in Python's notation, which is not built here.
MarkedText printed(const TemplateValue& value) {
  if (const auto* missing = value.as<Unknown>()) throw TemplateRefused(missing->what);
  if (const auto* text = value.as<MarkedText>()) return *text;
  if (const auto* number = value.as<int64_t>()) return MarkedText(std::to_string(*number));
  if (value.as<Undefined>()) return {};
  throw TemplateRefused("the output of what is no text");
}

// Values of different types are unequal. Lists and fields are not compared.
TemplateValue equal(const TemplateValue& a, const TemplateValue& b) {
  if (auto missing = unknown_among(a, b)) return *missing;
  if (a.of.index() != b.of.index()) return {false};
  if (const auto* text = a.as<MarkedText>()) return {text->plain() == b.as<MarkedText>()->plain()};
  if (const auto* number = a.as<int64_t>()) return {*number == *b.as<int64_t>()};
  if (const bool* flag = a.as<bool>()) return {*flag == *b.as<bool>()};
  if (a.as<None>() || a.as<Undefined>()) return {true};
  return unknown("a comparison of lists");
}

TemplateValue negated(const TemplateValue& value) {
  const auto known = truth(value);
  return known ? TemplateValue{!*known} : value;
}

// `part in whole`: a part of a text, a field's name, or an element of a list.
TemplateValue contains(const TemplateValue& whole, const TemplateValue& part) {
  if (auto missing = unknown_among(whole, part)) return *missing;
  const auto* text = part.as<MarkedText>();
  if (const auto* in = whole.as<MarkedText>(); in && text)
    return {in->plain().find(text->plain()) != std::string::npos};
  if (const auto* fields = whole.as<TemplateFields>(); fields && text) return {(*fields)->contains(text->plain())};
  if (const auto* list = whole.as<TemplateList>()) {
    for (const TemplateValue& each : **list) {
      const TemplateValue same = equal(each, part);
      if (same.as<Unknown>() || *same.as<bool>()) return same;
    }
    return {false};
  }
  return unknown("`in`");
}

TemplateValue ordered(const TemplateValue& a, const TemplateValue& b, std::string_view mark) {
  if (auto missing = unknown_among(a, b)) return *missing;
  const auto *left = a.as<int64_t>(), *right = b.as<int64_t>();
  if (!left || !right) return unknown("`" + std::string(mark) + "` of what is no number");
  if (mark == "<") return {*left < *right};
  if (mark == "<=") return {*left <= *right};
  return {mark == ">" ? *left > *right : *left >= *right};
}

// Texts can be joined but not subtracted. Python's integers have no limit, so a result beyond 64 bits is unknown.
TemplateValue added(const TemplateValue& a, const TemplateValue& b, bool minus) {
  if (auto missing = unknown_among(a, b)) return *missing;
  if (!minus && a.as<MarkedText>() && b.as<MarkedText>()) return join_texts(a, b);
  const auto *left = a.as<int64_t>(), *right = b.as<int64_t>();
  if (!left || !right) return unknown(minus ? "a difference" : "a sum of unlike values");
  int64_t result = 0;
  const bool overflows =
      minus ? __builtin_sub_overflow(*left, *right, &result) : __builtin_add_overflow(*left, *right, &result);
  return overflows ? unknown("a large number") : TemplateValue{result};
}

// Only for numbers from 0 on: for negative ones Python rounds `//` and `%` differently from C++.
TemplateValue multiplied(const TemplateValue& a, const TemplateValue& b, std::string_view mark) {
  if (auto missing = unknown_among(a, b)) return *missing;
  const auto *left = a.as<int64_t>(), *right = b.as<int64_t>();
  int64_t product = 0;
  if (!left || !right || *left < 0 || *right < 0) return unknown("`" + std::string(mark) + "`");
  if (mark == "*" && !__builtin_mul_overflow(*left, *right, &product)) return {product};
  if (mark == "%" && *right > 0) return {*left % *right};
  if (mark == "//" && *right > 0) return {*left / *right};
  return unknown("`" + std::string(mark) + "`");
}

TemplateValue joined(const TemplateValue& a, const TemplateValue& b) {
  if (auto missing = unknown_among(a, b)) return *missing;
  return join_texts({printed(a)}, {printed(b)});
}

// Strips stretch by stretch, as long as a stretch vanishes completely. A user's stretch stays even if it is empty.
MarkedText stripped(MarkedText text, std::string_view which, bool left, bool right) {
  auto& stretches = text.stretches;
  const auto strip = [&which](MarkedText::Stretch& stretch, bool from_left) {
    std::string& s = stretch.text;
    const size_t keep = from_left ? s.find_first_not_of(which) : s.find_last_not_of(which);
    const bool all = keep == std::string::npos;
    if (all)
      s.clear();
    else if (from_left)
      s.erase(0, keep);
    else
      s.erase(keep + 1);
    return all;
  };
  // The loops' conditions strip. A stretch that keeps some text ends its loop.
  for (size_t i = 0; left && i < stretches.size() && strip(stretches[i], true); ++i) {
  }
  for (size_t i = stretches.size(); right && i > 0 && strip(stretches[i - 1], false); --i) {
  }
  std::erase_if(stretches, [](const MarkedText::Stretch& each) { return each.text.empty() && !each.of_user; });
  return text;
}

std::optional<int64_t> length_of(const TemplateValue& value) {
  if (const auto* list = value.as<TemplateList>()) return std::ssize(**list);
  if (const auto* fields = value.as<TemplateFields>()) return std::ssize(**fields);
  const auto* text = value.as<MarkedText>();
  if (!text) return std::nullopt;
  return std::ranges::count_if(text->plain(), [](char c) { return (c & 0xC0) != 0x80; });  // counts UTF-8 characters
}

}  // namespace tandem
