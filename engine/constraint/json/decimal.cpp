#include "engine/constraint/json/decimal.h"

#include <algorithm>
#include <charconv>

namespace tandem::constraint {
namespace {

// Equal values have equal digits: no leading zero in front of the point, no trailing one behind it, and
// no negative zero.
void tidy(Decimal& value) {
  value.whole.erase(0, std::min(value.whole.find_first_not_of('0'), value.whole.size()));
  const size_t last = value.fraction.find_last_not_of('0');
  value.fraction.resize(last == std::string::npos ? 0 : last + 1);
  if (value.is_zero()) value.negative = false;
}

// Cuts a magnitude down to a multiple of 10^exponent. Returns whether something was cut off.
bool cut(Decimal& value, int exponent) {
  const Decimal before = value;
  if (exponent <= 0) {
    value.fraction.resize(std::min(value.fraction.size(), static_cast<size_t>(-exponent)));
  } else {
    value.fraction.clear();
    const size_t digits = std::min(value.whole.size(), static_cast<size_t>(exponent));
    std::fill(value.whole.end() - static_cast<std::ptrdiff_t>(digits), value.whole.end(), '0');
  }
  tidy(value);
  return value.whole != before.whole || value.fraction != before.fraction;
}

// Adds 10^exponent to a magnitude that is a multiple of it, or takes it away from one that is larger.
void shift(Decimal& value, int exponent, bool up) {
  std::string digits = value.whole;
  int place = exponent;  // of the last digit
  if (exponent < 0) {
    // A fraction is written behind the whole digits, so the carry below runs over both.
    std::string fraction = value.fraction;
    fraction.resize(static_cast<size_t>(-exponent), '0');
    digits += fraction;
  } else {
    digits.resize(std::max(digits.size(), static_cast<size_t>(exponent) + 1), '0');
    if (value.whole.size() <= static_cast<size_t>(exponent)) {
      digits.assign(static_cast<size_t>(exponent) + 1 - value.whole.size(), '0');
      digits += value.whole;
    }
    place = 0;
  }
  // The zero in front takes the carry of 99 to 100.
  digits.insert(0, 1, '0');
  auto i = static_cast<std::ptrdiff_t>(digits.size()) - 1 - std::max(exponent, 0);
  for (; i >= 0; --i) {
    char& digit = digits[static_cast<size_t>(i)];
    if (up ? digit < '9' : digit > '0') {
      digit = static_cast<char>(up ? digit + 1 : digit - 1);
      break;
    }
    digit = up ? '0' : '9';
  }
  const size_t behind_point = place < 0 ? static_cast<size_t>(-place) : 0;
  value.whole = digits.substr(0, digits.size() - behind_point);
  value.fraction = digits.substr(digits.size() - behind_point);
  tidy(value);
}

// Zero has no sign.
Decimal negated(Decimal value) {
  if (!value.is_zero()) value.negative = !value.negative;
  return value;
}

}  // namespace

std::string Decimal::text() const {
  return (negative ? "-" : "") + (whole.empty() ? "0" : whole) + (fraction.empty() ? "" : "." + fraction);
}

// Reads a number as decimal digits and moves the point by its exponent. No double is in between, so bounds of a schema
// stay exact.
Decimal read_decimal(std::string_view text) {
  Decimal value;
  if (text.starts_with('-')) value.negative = true, text.remove_prefix(1);
  int exponent = 0;
  if (const size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view digits = text.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    text = text.substr(0, e);
  }
  const size_t point = std::min(text.find('.'), text.size());
  value.whole = text.substr(0, point);
  if (point < text.size()) value.fraction = text.substr(point + 1);
  // The point moves to the right for a positive exponent, and a zero is written where the fraction has ended.
  for (; exponent > 0; --exponent) {
    value.whole += value.fraction.empty() ? '0' : value.fraction[0];
    if (!value.fraction.empty()) value.fraction.erase(0, 1);
  }
  for (; exponent < 0; ++exponent) {
    value.fraction.insert(0, 1, value.whole.empty() ? '0' : value.whole.back());
    if (!value.whole.empty()) value.whole.pop_back();
  }
  tidy(value);
  return value;
}

std::strong_ordering compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? std::strong_ordering::less : std::strong_ordering::greater;
  // The smaller of two negative numbers has the larger magnitude.
  if (a.negative) return compare(negated(b), negated(a));
  if (a.whole.size() != b.whole.size()) return a.whole.size() <=> b.whole.size();
  if (const auto by_whole = a.whole.compare(b.whole); by_whole != 0) return by_whole <=> 0;
  return a.fraction.compare(b.fraction) <=> 0;  // a longer one with equal beginning is larger
}

// Cutting a positive number leads below it, so one step up is the next multiple above. Negative numbers mirror this.
Decimal next_above(const Decimal& value, int exponent) {
  if (value.negative) return negated(next_below(negated(value), exponent));
  Decimal next = value;
  cut(next, exponent);
  shift(next, exponent, true);
  return next;
}

Decimal next_below(const Decimal& value, int exponent) {
  if (value.negative || value.is_zero()) return negated(next_above(negated(value), exponent));
  // A number that was no multiple is below its own cut already.
  Decimal next = value;
  if (!cut(next, exponent)) shift(next, exponent, false);
  return next;
}

}  // namespace tandem::constraint
