#include "engine/constraint/json/number_text.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/constraint/text/text_pieces.h"

namespace tandem::constraint {
namespace {

constexpr int kDigitsOfDouble = 15;  // decimals of so many digits are different doubles

// An empty range adds nothing, so callers may compute ranges without looking at their ends.
void add_digit(RuleNet& net, StateId from, int low, int high, StateId to) {
  if (low <= high) net.add_byte(from, static_cast<uint8_t>('0' + low), static_cast<uint8_t>('0' + high), to);
}

// Numbers without a sign from `low` to `high`, both included; high null: without an end. A state knows how many digits
// were read, and whether they are those of the lower or of the upper bound so far.
class Magnitudes {
 public:
  Magnitudes(RuleNet& net, const Decimal& low, const Decimal* high, bool is_integer, StateId to)
      : net_(net),
        low_whole_(low.whole.empty() ? "0" : low.whole),
        low_fraction_(low.fraction),
        high_whole_(high ? (high->whole.empty() ? "0" : high->whole) : ""),
        high_fraction_(high ? high->fraction : ""),
        has_high_(high != nullptr),
        is_integer_(is_integer),
        to_(to) {}

  void add(StateId from) {
    // Numbers of each length between the bounds' lengths are tried. A longer number is larger, since no zero
    // stands in front.
    const size_t least = low_whole_.size(), most = has_high_ ? high_whole_.size() : least;
    for (size_t length = least; length <= most; ++length) {
      const bool at_low = length == least, at_high = has_high_ && length == most;
      add_digits(from, length, 0, at_low, at_high);
    }
    if (has_high_) return;
    // Any longer number.
    StateId state = net_.add_state();
    add_digit(net_, from, 1, 9, state);
    for (size_t i = 0; i < least; ++i) {
      const StateId next = net_.add_state();
      add_digit(net_, state, 0, 9, next);
      state = next;
    }
    add_digit(net_, state, 0, 9, state);
    net_.add_nothing(state, behind_whole(false, false));
  }

 private:
  // The state with `left` more digits, whatever they are, is one for all lengths. The bounds matter only while a
  // number's digits are equal to theirs. `at_low` and `at_high` say so.
  StateId before_digit(size_t length, size_t place, bool at_low, bool at_high) {
    if (place == length) return behind_whole(at_low, at_high);
    const bool is_free = !at_low && !at_high;
    const auto key = std::tuple(is_free ? length - place : length, is_free ? size_t{0} : place, at_low, at_high);
    const auto [found, is_new] = whole_.emplace(key, -1);
    if (!is_new) return found->second;
    const StateId state = found->second = net_.add_state();
    add_digits(state, length, place, at_low, at_high);
    return state;
  }

  void add_digits(StateId from, size_t length, size_t place, bool at_low, bool at_high) {
    // Several digits cannot begin with a zero.
    const int least = place == 0 && length > 1 ? 1 : 0;
    const int low = std::max(least, at_low ? low_whole_[place] - '0' : 0),
              high = at_high ? high_whole_[place] - '0' : 9;
    add_range(from, low, high, at_low, at_high,
              [&](bool low_next, bool high_next) { return before_digit(length, place + 1, low_next, high_next); });
  }

  // The digits at both ends stay at their bound, and those between them are free.
  template <typename Next>
  void add_range(StateId from, int low, int high, bool at_low, bool at_high, const Next& next) {
    if (low > high) return;
    if (low == high) return add_digit(net_, from, low, low, next(at_low, at_high));
    int first = low, last = high;
    if (at_low) add_digit(net_, from, first, first, next(true, false)), ++first;
    if (at_high) add_digit(net_, from, last, last, next(false, true)), --last;
    if (first <= last) add_digit(net_, from, first, last, next(false, false));
  }

  // Behind the whole digits, the number may end if it is not below the lower bound. Its fraction can still
  // lift it there.
  StateId behind_whole(bool at_low, bool at_high) {
    StateId& state = behind_whole_[at_low][at_high];
    if (state >= 0) return state;
    state = net_.add_state();
    const StateId made = state;
    if (!at_low || low_fraction_.empty()) net_.add_nothing(made, to_);
    if (!is_integer_) net_.add_byte(made, '.', '.', fraction(0, at_low, at_high));
    return made;
  }

  // Behind so many digits of the fraction. Beyond those of the bounds only zeros stay at a bound.
  StateId fraction(size_t place, bool at_low, bool at_high) {
    const size_t most = std::max(low_fraction_.size(), high_fraction_.size()) + 1;
    place = std::min(place, !at_low && !at_high ? size_t{place > 0} : most);
    const auto [found, is_new] = fraction_.emplace(std::tuple(place, at_low, at_high), -1);
    if (!is_new) return found->second;
    const StateId state = found->second = net_.add_state();
    if (place > 0 && (!at_low || place >= low_fraction_.size())) net_.add_nothing(state, to_);
    const auto digit = [place](const std::string& digits) { return place < digits.size() ? digits[place] - '0' : 0; };
    add_range(state, at_low ? digit(low_fraction_) : 0, at_high ? digit(high_fraction_) : 9, at_low, at_high,
              [&](bool low_next, bool high_next) { return fraction(place + 1, low_next, high_next); });
    return state;
  }

  RuleNet& net_;
  const std::string low_whole_, low_fraction_, high_whole_, high_fraction_;
  const bool has_high_, is_integer_;
  const StateId to_;
  std::map<std::tuple<size_t, size_t, bool, bool>, StateId> whole_;
  std::map<std::tuple<size_t, bool, bool>, StateId> fraction_;
  StateId behind_whole_[2][2] = {{-1, -1}, {-1, -1}};
};

// JSON's integer: a zero alone, or digits without a leading zero.
void add_integer(RuleNet& net, StateId from, StateId to) {
  net.add_byte(from, '0', '0', to);
  const StateId digits = net.add_state();
  add_digit(net, from, 1, 9, digits);
  add_digit(net, digits, 0, 9, digits);
  net.add_nothing(digits, to);
}

// One digit or more.
void add_digits_loop(RuleNet& net, StateId from, StateId to) {
  const StateId digits = net.add_state();
  add_digit(net, from, 0, 9, digits);
  add_digit(net, digits, 0, 9, digits);
  net.add_nothing(digits, to);
}

// An exponent has at most two digits, or stands behind a single digit and is at most 307: a double can hold the number.
void add_exponent(RuleNet& net, StateId from, bool is_long, StateId to) {
  const StateId e = net.add_state(), digits = net.add_state();
  for (const char c : {'e', 'E'}) net.add_byte(from, static_cast<uint8_t>(c), static_cast<uint8_t>(c), e);
  net.add_nothing(e, digits);
  for (const char c : {'+', '-'}) net.add_byte(e, static_cast<uint8_t>(c), static_cast<uint8_t>(c), digits);
  if (!is_long)
    return add_repeated(
        net, digits, 1, 2, [](RuleNet& into, StateId a, StateId b) { add_digit(into, a, 0, 9, b); }, to);
  // Behind a single digit the exponent has three digits up to 307: 000 to 299, or 300 to 307.
  const StateId low = net.add_state(), three = net.add_state(), zero = net.add_state(), last = net.add_state();
  add_digit(net, digits, 0, 2, low);
  add_digit(net, low, 0, 9, last);
  add_digit(net, last, 0, 9, to);
  add_digit(net, digits, 3, 3, three);
  add_digit(net, three, 0, 0, zero);
  add_digit(net, zero, 0, 7, to);
}

// A number without bounds has two forms. Many digits take an exponent of two digits; one digit takes one of up to 307.
void add_any_number(RuleNet& net, StateId from, bool is_integer, StateId to) {
  const StateId sign = net.add_state();
  net.add_nothing(from, sign);
  net.add_byte(from, '-', '-', sign);
  if (is_integer) return add_integer(net, sign, to);
  const StateId whole = net.add_state(), point = net.add_state(), fraction = net.add_state();
  add_integer(net, sign, whole);
  net.add_nothing(whole, fraction);
  net.add_byte(whole, '.', '.', point);
  add_digits_loop(net, point, fraction);
  net.add_nothing(fraction, to);
  add_exponent(net, fraction, false, to);
  const StateId digit = net.add_state(), digit_point = net.add_state(), digit_fraction = net.add_state();
  add_digit(net, sign, 0, 9, digit);
  net.add_nothing(digit, digit_fraction);
  net.add_byte(digit, '.', '.', digit_point);
  add_digits_loop(net, digit_point, digit_fraction);
  add_exponent(net, digit_fraction, true, to);
}

// The last digit that a double tells apart, as a power of ten.
int unit_of(const Decimal& value) { return static_cast<int>(value.whole.size()) - kDigitsOfDouble; }

Decimal magnitude(Decimal value) {
  value.negative = false;
  return value;
}

}  // namespace

// A bound from another keyword counts if it is narrower, or if it excludes the same value.
void Bounds::raise(const Decimal& value, bool is_open) {
  const auto order = low ? compare(value, *low) : std::strong_ordering::greater;
  if (order > 0 || (order == 0 && is_open)) low = value, low_is_open = is_open;
}

void Bounds::lower(const Decimal& value, bool is_open) {
  const auto order = high ? compare(value, *high) : std::strong_ordering::less;
  if (order < 0 || (order == 0 && is_open)) high = value, high_is_open = is_open;
}

bool Bounds::has(const Decimal& value) const {
  if (low && (compare(value, *low) < 0 || (low_is_open && compare(value, *low) == 0))) return false;
  return !high || compare(value, *high) < 0 || (!high_is_open && compare(value, *high) == 0);
}

bool Bounds::is_empty() const {
  if (!low || !high) return false;
  const auto order = compare(*low, *high);
  return order > 0 || (order == 0 && (low_is_open || high_is_open));
}

// Open bounds become closed ones first. Then numbers below and above zero are ranges of magnitudes.
void add_number(RuleNet& net, StateId from, const Bounds& bounds, bool is_integer, StateId to) {
  if (!bounds.is_given()) return add_any_number(net, from, is_integer, to);
  const Decimal zero;
  std::optional<Decimal> low = bounds.low, high = bounds.high;
  if (low && (bounds.low_is_open || (is_integer && !low->is_whole())))
    low = next_above(*low, is_integer ? 0 : unit_of(*low));
  if (high && (bounds.high_is_open || (is_integer && !high->is_whole())))
    high = next_below(*high, is_integer ? 0 : unit_of(*high));
  if (low && high && compare(*low, *high) > 0) return;
  if (!high || compare(*high, zero) >= 0) {
    const Decimal least = low && !low->negative ? *low : zero;
    Magnitudes(net, least, high ? &*high : nullptr, is_integer, to).add(from);
  }
  // Negative numbers are magnitudes behind a minus, with the bounds swapped. Minus zero counts as a fraction alone.
  const auto of_zero = low ? compare(*low, zero) : std::strong_ordering::less;
  if (of_zero < 0 || (of_zero == 0 && !is_integer)) {
    const Decimal least = high && high->negative ? magnitude(*high) : zero;
    const Decimal most = low ? magnitude(*low) : zero;
    const StateId sign = net.add_state();
    net.add_byte(from, '-', '-', sign);
    Magnitudes(net, least, low ? &most : nullptr, is_integer, to).add(sign);
  }
}

}  // namespace tandem::constraint
