// JSON numbers between two bounds, as a regular language of digits.
//
// Contract: adds edges and states between two states of the net. Numbers with a bound are written without an exponent.
// An open bound of a fraction keeps a distance in the 15th digit. A reader who rounds to a double then finds the number
// on the right side.
#pragma once

#include <optional>

#include "engine/constraint/automaton/rule_net.h"
#include "engine/constraint/json/decimal.h"

namespace tandem::constraint {

struct Bounds {
  std::optional<Decimal> low, high;
  bool low_is_open = false, high_is_open = false;
  bool is_given() const { return low || high; }
  // The narrower one of two.
  void raise(const Decimal& value, bool is_open);
  void lower(const Decimal& value, bool is_open);
  bool has(const Decimal& value) const;
  bool is_empty() const;  // no number is between them
};

void add_number(RuleNet& net, StateId from, const Bounds& bounds, bool is_integer, StateId to);

}  // namespace tandem::constraint
