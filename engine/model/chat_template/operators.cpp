// Arithmetic on values, and numbers from texts, with Python's rules: floor division, whole numbers without an end, and
// texts that repeat.
#include "engine/model/chat_template/operators.h"

#include <cmath>
#include <cstdlib>

#include "engine/model/chat_template/characters.h"
#include "engine/model/chat_template/format.h"
#include "engine/model/chat_template/methods.h"
#include "sync/parse_number.h"

namespace tandem::chat {
namespace {

// The marks stand in the order of the enumeration.
const char* mark_of(Operator what) {
  constexpr const char* kMarks[] = {"+", "-", "*", "/", "//", "%", "**"};
  return kMarks[static_cast<size_t>(what)];
}

[[noreturn]] void refuse(Operator what, const Value& a, const Value& b) {
  fail(std::string("`") + mark_of(what) + "` of a " + a.type() + " and a " + b.type());
}

// Whole numbers count as reals if the other side is one.
std::optional<double> as_real(const Value& value) {
  if (value.real()) return *value.real();
  if (const auto whole = value.as_whole()) return whole->to_double();
  return std::nullopt;
}

void require_divisor(double b) {
  if (b == 0) fail("a division by zero");
}

// Python's remainder has the divisor's sign, and the quotient fits it.
double floor_modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0 && (b < 0) != (rest < 0)) rest += b;
  return rest == 0 ? std::copysign(0.0, b) : rest;
}

// The quotient is made from the remainder, as CPython does it, so both always fit each other. The last step mends a
// quotient that was rounded down below its whole number.
double floor_quotient(double a, double b) {
  double rest = std::fmod(a, b), quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double down = std::floor(quotient);
  return quotient - down > 0.5 ? down + 1 : down;
}

// Powers of negative numbers with a fraction are complex in Python, which no template needs.
double real_power(double a, double b) {
  if (a == 0 && b < 0) fail("zero to a negative power");
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::trunc(b))
    fail_unknown("a power that is a complex number");
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) fail("a power too large for a floating point number");
  return result;
}

// Each division checks its divisor first: C++ would give an infinity where Python raises an error.
Value with_reals(Operator what, double a, double b) {
  switch (what) {
    case Operator::add:
      return a + b;
    case Operator::subtract:
      return a - b;
    case Operator::multiply:
      return a * b;
    case Operator::divide:
      require_divisor(b);
      return a / b;
    case Operator::floor_divide:
      require_divisor(b);
      return floor_quotient(a, b);
    case Operator::modulo:
      require_divisor(b);
      return floor_modulo(a, b);
    case Operator::power:
      return real_power(a, b);
  }
  return {};
}

// A quotient of whole numbers is real, and a negative power too. All else stays whole.
Value with_wholes(Operator what, const Integer& a, const Integer& b) {
  switch (what) {
    case Operator::add:
      return a + b;
    case Operator::subtract:
      return a - b;
    case Operator::multiply:
      return a * b;
    case Operator::divide:
      return Integer::true_divide(a, b);
    case Operator::floor_divide:
      return Integer::divide(a, b).quotient;
    case Operator::modulo:
      return Integer::divide(a, b).remainder;
    case Operator::power:
      return b.is_negative() ? Value(real_power(a.to_double(), b.to_double())) : Value(Integer::power(a, b));
  }
  return {};
}

// If one of two texts is marked `safe`, the other one is escaped, and the result is marked as well.
Value joined_strings(Maker& maker, const String& a, const String& b) {
  const bool is_safe = a.is_safe || b.is_safe;
  maker.require_room(a.text.size() + b.text.size());
  const auto part = [&](const String& each) {
    return is_safe && !each.is_safe ? escaped_html(maker, each.text) : each.text;
  };
  Text both = part(a);
  both.append(part(b));
  return maker.string(std::move(both), is_safe);
}

// A sum of lists is a list and that of tuples a tuple. The two kinds cannot be added.
Value joined_sequences(Maker& maker, const Value& a, const Value& b) {
  maker.require_room((a.sequence()->items.size() + b.sequence()->items.size()) * sizeof(Value));
  Values all = a.sequence()->items;
  all.insert(all.end(), b.sequence()->items.begin(), b.sequence()->items.end());
  return maker.list(std::move(all), a.list() ? Sequence::Kind::list : Sequence::Kind::tuple);
}

// The size of the result is checked before anything is made, since a template can ask for any number of times.
Value repeated_value(Maker& maker, const Value& value, const Integer& times) {
  if (!times.fits()) {
    if (!times.is_negative()) fail_too_large("a value that is repeated " + times.to_string() + " times");
    return repeated_value(maker, value, 0);
  }
  if (value.string())
    return maker.string(repeated(maker, value.string()->text, times.small()), value.string()->is_safe);
  const Values& items = value.sequence()->items;
  Values all;
  if (times.small() > 0 && !items.empty()) {
    if (static_cast<uint64_t>(times.small()) > Account::kMostText / sizeof(Value) / items.size())
      fail_too_large("a list that is repeated " + times.to_string() + " times");
    maker.require_room(items.size() * static_cast<size_t>(times.small()) * sizeof(Value));
    for (int64_t i = 0; i < times.small(); ++i) all.insert(all.end(), items.begin(), items.end());
  }
  return maker.list(std::move(all), value.list() ? Sequence::Kind::list : Sequence::Kind::tuple);
}

// Digits that single underscores may divide.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
      continue;
    }
    const auto beside = [&](size_t at) {
      return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at]));
    };
    if (i == 0 || !beside(i - 1) || !beside(i + 1)) return std::nullopt;
  }
  return digits;
}

// Blanks in ASCII alone are cut off. Others are found by the callers, which refuse bytes beyond ASCII.
std::string_view trimmed(std::string_view text) {
  size_t begin = 0, end = text.size();
  while (begin < end && is_space(static_cast<unsigned char>(text[begin])) && text[begin] >= 0) ++begin;
  while (end > begin && is_space(static_cast<unsigned char>(text[end - 1])) && text[end - 1] >= 0) --end;
  return text.substr(begin, end - begin);
}

}  // namespace

// Follows Python's order of rules: whole numbers stay exact, a real number makes both real, then texts and sequences
// are joined or repeated. Work is counted by the size of numbers, so a template cannot compute for hours.
Value computed(Maker& maker, Operator what, const Value& a, const Value& b) {
  // `%` with a text on its left writes values into it, even undefined ones, so it comes before the checks below.
  if (a.string() && what == Operator::modulo) {
    if (a.string()->is_safe) fail_unknown("`%` on a text that is marked `safe`");
    return maker.string(percent_formatted(maker, a.string()->text, b));
  }
  if (a.undefined()) fail(a.undefined()->message);
  if (b.undefined()) fail(b.undefined()->message);
  const auto left = a.as_whole(), right = b.as_whole();
  if (left && right) {
    if (!left->fits() || !right->fits()) maker.work(left->bits() / 64 + right->bits() / 64);
    if (what == Operator::power) maker.work(256);
    return with_wholes(what, *left, *right);
  }
  const auto x = as_real(a), y = as_real(b);
  if (x && y) return with_reals(what, *x, *y);
  if (what == Operator::add) {
    if (a.string() && b.string()) return joined_strings(maker, *a.string(), *b.string());
    if (a.sequence() && b.sequence() && (a.list() != nullptr) == (b.list() != nullptr))
      return joined_sequences(maker, a, b);
  }
  if (what == Operator::multiply) {
    if (right && (a.string() || a.sequence())) return repeated_value(maker, a, *right);
    if (left && (b.string() || b.sequence())) return repeated_value(maker, b, *left);
  }
  if (what == Operator::subtract && (a.object<DictView>() || b.object<DictView>()))
    fail_unknown("`-` of a view of a dict");
  refuse(what, a, b);
}

// The sign of a truth value makes a whole number, since true counts as 1.
Value negated(const Value& value) {
  if (value.undefined()) fail(value.undefined()->message);
  if (const auto whole = value.as_whole()) return -*whole;
  if (value.real()) return -*value.real();
  fail(std::string("`-` of a ") + value.type());
}

// The sign plus makes a number of a truth value, as Python does.
Value unchanged(const Value& value) {
  if (value.undefined()) fail(value.undefined()->message);
  if (const auto whole = value.as_whole()) return *whole;
  if (value.real()) return value;
  fail(std::string("`+` of a ") + value.type());
}

// Quotes are written by their numbers, as Python's markupsafe does.
Text escaped_html(Maker& maker, const Text& text) {
  maker.work(text.size() / 16);
  Text result;
  text.each_stretch([&](std::string_view stretch, Author author) {
    for (size_t at = 0; at < stretch.size();) {
      const size_t mark = std::min(stretch.find_first_of("&<>'\"", at), stretch.size());
      result.append(stretch.substr(at, mark - at), author);
      if (mark == stretch.size()) break;
      const char c = stretch[mark];
      result.append(c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '\'' ? "&#39;" : "&#34;", author);
      at = mark + 1;
    }
    maker.require_room(result.size());
  });
  return result;
}

namespace {

// A number that a double cannot hold is infinite or 0, as in Python.
std::optional<double> beyond_range(std::string_view text) {
  if (text.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return std::nullopt;
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  return *end == '\0' ? std::optional(value) : std::nullopt;
}

}  // namespace

// Python's int(text, base): blanks around it, a sign, a prefix where the base is 0 or fits it, underscores between
// digits. With base 0 a decimal number may not begin with 0.
std::optional<Integer> read_whole(std::string_view text, int base) {
  const std::string all = with_ascii_digits(trimmed(text));
  std::string_view rest = all;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  const auto prefix = [&](int of, char letter) {
    return (base == of || base == 0) && rest.size() > 2 && rest[0] == '0' && (rest[1] | 0x20) == letter;
  };
  int radix = base == 0 ? 10 : base;
  for (const auto& [of, letter] : {std::pair{16, 'x'}, std::pair{8, 'o'}, std::pair{2, 'b'}}) {
    if (!prefix(of, letter)) continue;
    radix = of;
    rest.remove_prefix(2);
    if (rest.starts_with('_')) rest.remove_prefix(1);
    break;
  }
  const auto digits = without_underscores(rest);
  if (!digits) return std::nullopt;
  const auto value = Integer::parse(*digits, radix);
  if (value && base == 0 && radix == 10 && digits->size() > 1 && digits->front() == '0' && !value->is_zero())
    return std::nullopt;
  return value && negative ? std::optional(-*value) : value;
}

// Python's float(): blanks, a sign, digits, or one of the words inf, infinity and nan.
std::optional<double> read_real(std::string_view text) {
  const auto digits = without_underscores(with_ascii_digits(trimmed(text)));
  if (!digits) return std::nullopt;
  std::string_view rest = *digits;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  const std::string word = in_case(rest, Case::lower);
  if (word == "inf" || word == "infinity") return negative ? -HUGE_VAL : HUGE_VAL;
  if (word == "nan") return std::nan("");
  if (rest.empty() || (!std::isdigit(static_cast<unsigned char>(rest[0])) && rest[0] != '.')) return std::nullopt;
  auto value = parse_number<double>(rest);
  if (!value) value = beyond_range(rest);
  return value && negative ? -*value : value;
}

}  // namespace tandem::chat
