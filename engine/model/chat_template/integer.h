// Python's whole numbers, which have no limit of 64 bits. Python prints at most 4,300 digits of one, which is
// the limit here.
//
// Contract: Fault for a larger result and for a division by zero. Pure values.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::chat {

class Integer {
 public:
  Integer(int64_t value = 0) : small_(value) {}  // NOLINT: a number is an Integer
  // Digits of the base (2 to 36), at least one; absent if there is another character.
  static std::optional<Integer> parse(std::string_view digits, int base = 10);
  static Integer of(double whole);  // a finite number without a fraction

  bool fits() const { return !large_; }
  int64_t small() const { return small_; }  // only if it fits
  bool is_zero() const { return !large_ && small_ == 0; }
  bool is_negative() const { return large_ ? large_->negative : small_ < 0; }
  std::string to_string(int base = 10) const;
  double to_double() const;  // rounded to the nearest; Fault beyond the largest double
  size_t bits() const;       // of the magnitude

  std::strong_ordering operator<=>(const Integer& other) const;
  bool operator==(const Integer& other) const { return (*this <=> other) == 0; }
  Integer operator-() const;
  friend Integer operator+(const Integer& a, const Integer& b);
  friend Integer operator-(const Integer& a, const Integer& b) { return a + -b; }
  friend Integer operator*(const Integer& a, const Integer& b);

  // Python's `//` and `%`: the quotient is rounded down, and the remainder has the divisor's sign.
  struct Division;
  static Division divide(const Integer& a, const Integer& b);
  static double true_divide(const Integer& a, const Integer& b);       // `/`, rounded once
  static Integer power(const Integer& base, const Integer& exponent);  // exponent >= 0

 private:
  struct Large {
    bool negative = false;
    std::vector<uint32_t> limbs;  // lowest first; the highest is not 0
  };
  static Large widened(const Integer& value);
  static Integer narrowed(Large large);

  int64_t small_ = 0;
  std::shared_ptr<const Large> large_;  // null: small_ is the value
};

struct Integer::Division {
  Integer quotient, remainder;
};

}  // namespace tandem::chat
