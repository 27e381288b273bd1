// Decimal numbers of any length, for bounds: exact, where binary floating point would round.
//
// Contract: values.
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace tandem::constraint {

struct Decimal {
  bool negative = false;
  std::string whole, fraction;  // digits without zeros in front, or behind; both empty: 0
  bool is_zero() const { return whole.empty() && fraction.empty(); }
  bool is_whole() const { return fraction.empty(); }
  std::string text() const;
};

Decimal read_decimal(std::string_view json_number);  // "-12.5e-3"
std::strong_ordering compare(const Decimal& a, const Decimal& b);
// The nearest multiple of 10^exponent that is larger, or smaller.
Decimal next_above(const Decimal& value, int exponent);
Decimal next_below(const Decimal& value, int exponent);

}  // namespace tandem::constraint
