// Whole numbers of any size, as in Python: templates compute with such numbers. Small ones are plain 64-bit numbers.
// Only what overflows becomes a list of 32-bit limbs, the lowest first.
#include "engine/model/chat_template/integer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/model/chat_template/fault.h"

namespace tandem::chat {
namespace {

// A magnitude in base 2^32, the lowest limb first and without zeros at the end.
using Limbs = std::vector<uint32_t>;

constexpr size_t kMostLimbs = 447;  // 14,304 bits: 4,300 digits need 14,285
constexpr int64_t kExactDouble = int64_t{1} << 53;

void trim(Limbs& limbs) {
  while (!limbs.empty() && limbs.back() == 0) limbs.pop_back();
}

// Without zeros at the end, the longer magnitude is the larger one.
std::strong_ordering compare(const Limbs& a, const Limbs& b) {
  if (a.size() != b.size()) return a.size() <=> b.size();
  for (size_t i = a.size(); i-- > 0;)
    if (a[i] != b[i]) return a[i] <=> b[i];
  return std::strong_ordering::equal;
}

// The carry is the upper half of a sum of 64 bits.
Limbs sum(const Limbs& a, const Limbs& b) {
  Limbs result(std::max(a.size(), b.size()) + 1);
  uint64_t carry = 0;
  for (size_t i = 0; i < result.size(); ++i) {
    carry += (i < a.size() ? a[i] : 0ULL) + (i < b.size() ? b[i] : 0ULL);
    result[i] = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
  trim(result);
  return result;
}

// a is at least b.
Limbs difference(const Limbs& a, const Limbs& b) {
  Limbs result(a.size());
  int64_t borrow = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    int64_t each = static_cast<int64_t>(a[i]) - (i < b.size() ? b[i] : 0) + borrow;
    borrow = each < 0 ? -1 : 0;
    if (each < 0) each += int64_t{1} << 32;
    result[i] = static_cast<uint32_t>(each);
  }
  trim(result);
  return result;
}

// The school's multiplication. Numbers are at most 447 limbs long, so a faster one would not pay.
Limbs product(const Limbs& a, const Limbs& b) {
  Limbs result(a.size() + b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < b.size(); ++j) {
      carry += result[i + j] + static_cast<uint64_t>(a[i]) * b[j];
      result[i + j] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    result[i + b.size()] = static_cast<uint32_t>(carry);
  }
  trim(result);
  return result;
}

// Divides in place and returns the remainder.
uint32_t divide_by(Limbs& limbs, uint32_t divisor) {
  uint64_t rest = 0;
  for (size_t i = limbs.size(); i-- > 0;) {
    rest = rest << 32 | limbs[i];
    limbs[i] = static_cast<uint32_t>(rest / divisor);
    rest %= divisor;
  }
  trim(limbs);
  return static_cast<uint32_t>(rest);
}

// Each limb is spread over two limbs of the result.
Limbs shifted_left(const Limbs& limbs, size_t bits) {
  Limbs result(limbs.size() + bits / 32 + 1);
  const size_t whole = bits / 32, part = bits % 32;
  for (size_t i = 0; i < limbs.size(); ++i) {
    const uint64_t wide = static_cast<uint64_t>(limbs[i]) << part;
    result[i + whole] |= static_cast<uint32_t>(wide);
    result[i + whole + 1] |= static_cast<uint32_t>(wide >> 32);
  }
  trim(result);
  return result;
}

// Bits that leave on the right are lost, so the caller must know that they are zeros or unwanted.
Limbs shifted_right(const Limbs& limbs, size_t bits) {
  const size_t whole = bits / 32, part = bits % 32;
  Limbs result;
  for (size_t i = whole; i < limbs.size(); ++i) {
    const uint64_t above = i + 1 < limbs.size() ? limbs[i + 1] : 0;
    result.push_back(static_cast<uint32_t>((above << 32 | limbs[i]) >> part));
  }
  trim(result);
  return result;
}

size_t bits_of(const Limbs& limbs) {
  return limbs.empty() ? 0 : limbs.size() * 32 - static_cast<size_t>(std::countl_zero(limbs.back()));
}

// Both results of one division, since each costs as much as both.
struct Quotient {
  Limbs quotient, remainder;
};

// Long division in base 2^32 (Knuth's algorithm D). The divisor's highest bit is shifted to the top, so that each
// digit's estimate is at most two too large.
Quotient long_division(const Limbs& a, const Limbs& b) {
  if (compare(a, b) < 0) return {{}, a};
  if (b.size() == 1) {
    Quotient result{a, {}};
    result.remainder = {divide_by(result.quotient, b[0])};
    trim(result.remainder);
    return result;
  }
  const auto shift = static_cast<size_t>(std::countl_zero(b.back()));
  Limbs rest = shifted_left(a, shift);
  const Limbs divisor = shifted_left(b, shift);
  rest.resize(a.size() + 1);
  const size_t n = divisor.size();
  Quotient result;
  result.quotient.resize(rest.size() - n);
  for (size_t j = result.quotient.size(); j-- > 0;) {
    // A digit is estimated from the two highest limbs, and corrected by the third. After that it is at most
    // one too large.
    const uint64_t top = static_cast<uint64_t>(rest[j + n]) << 32 | rest[j + n - 1];
    uint64_t digit = top / divisor[n - 1], left = top % divisor[n - 1];
    while (digit >> 32 != 0 || digit * divisor[n - 2] > (left << 32 | rest[j + n - 2])) {
      --digit;
      left += divisor[n - 1];
      if (left >> 32 != 0) break;
    }
    // The digit times the divisor is taken away from the rest. A borrow says that the digit was too large.
    int64_t borrow = 0;
    uint64_t carry = 0;
    for (size_t i = 0; i <= n; ++i) {
      carry += i < n ? digit * divisor[i] : 0;
      const int64_t each = static_cast<int64_t>(rest[i + j]) - static_cast<int64_t>(carry & 0xFFFFFFFF) + borrow;
      rest[i + j] = static_cast<uint32_t>(each);
      borrow = each < 0 ? -1 : 0;
      carry >>= 32;
    }
    if (borrow != 0) {  // the digit was one too large
      --digit;
      uint64_t back = 0;
      for (size_t i = 0; i <= n; ++i) {
        back += static_cast<uint64_t>(rest[i + j]) + (i < n ? divisor[i] : 0);
        rest[i + j] = static_cast<uint32_t>(back);
        back >>= 32;
      }
    }
    result.quotient[j] = static_cast<uint32_t>(digit);
  }
  trim(result.quotient);
  trim(rest);
  result.remainder = shifted_right(rest, shift);
  return result;
}

// The nearest double of (limbs + a bit more, if `more`) * 2^exponent. The 64 highest bits are kept; the lowest of them
// stands for all below, which is enough to round to 53.
double rounded(const Limbs& limbs, bool more, int exponent) {
  const size_t bits = bits_of(limbs);
  const size_t dropped = bits > 64 ? bits - 64 : 0;
  const Limbs high = shifted_right(limbs, dropped);
  uint64_t value = (high.size() > 1 ? static_cast<uint64_t>(high[1]) << 32 : 0) | (high.empty() ? 0 : high[0]);
  if (dropped > 0) more = more || compare(shifted_left(high, dropped), limbs) != 0;
  if (more) value |= 1;
  return std::ldexp(static_cast<double>(value), exponent + static_cast<int>(dropped));
}

}  // namespace

// A small number as limbs. The most negative one has no positive counterpart, so its magnitude is made without a sign.
Integer::Large Integer::widened(const Integer& value) {
  if (value.large_) return *value.large_;
  const uint64_t magnitude =
      value.small_ < 0 ? ~static_cast<uint64_t>(value.small_) + 1 : static_cast<uint64_t>(value.small_);
  Large large{value.small_ < 0, {static_cast<uint32_t>(magnitude), static_cast<uint32_t>(magnitude >> 32)}};
  trim(large.limbs);
  return large;
}

// Each result passes here: it becomes small if it fits into 64 bits, and is a Fault if it is too long.
Integer Integer::narrowed(Large large) {
  trim(large.limbs);
  if (large.limbs.size() > kMostLimbs) fail_too_large("a number of more than 4,300 digits");
  if (large.limbs.size() <= 2) {
    uint64_t magnitude = 0;
    for (size_t i = large.limbs.size(); i-- > 0;) magnitude = magnitude << 32 | large.limbs[i];
    if (magnitude <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return large.negative ? -static_cast<int64_t>(magnitude) : static_cast<int64_t>(magnitude);
    if (large.negative && magnitude == uint64_t{1} << 63) return std::numeric_limits<int64_t>::min();
  }
  Integer result;
  result.large_ = std::make_shared<const Large>(std::move(large));
  return result;
}

// Reads a number digit by digit: what was read so far times the base, plus the digit.
std::optional<Integer> Integer::parse(std::string_view digits, int base) {
  Large large;
  if (digits.empty()) return std::nullopt;
  if (digits.size() > 32 * kMostLimbs) fail_too_large("a number of more than 4,300 digits");
  for (const char c : digits) {
    int digit = 99;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'a' && c <= 'z') digit = c - 'a' + 10;
    if (c >= 'A' && c <= 'Z') digit = c - 'A' + 10;
    if (digit >= base) return std::nullopt;
    uint64_t carry = static_cast<uint64_t>(digit);
    for (uint32_t& limb : large.limbs) {
      carry += static_cast<uint64_t>(limb) * static_cast<uint64_t>(base);
      limb = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) large.limbs.push_back(static_cast<uint32_t>(carry));
  }
  return narrowed(std::move(large));
}

// A double is its mantissa of 53 bits times a power of two, so its whole part is exact.
Integer Integer::of(double whole) {
  int exponent = 0;
  const double fraction = std::frexp(std::abs(whole), &exponent);  // 0.5 to 1, times 2^exponent
  const auto mantissa = static_cast<int64_t>(std::ldexp(fraction, 53));
  const Integer magnitude =
      exponent >= 53 ? Integer(mantissa) * power(2, exponent - 53) : Integer(static_cast<int64_t>(std::abs(whole)));
  return whole < 0 ? -magnitude : magnitude;
}

// The digits come from behind, as remainders of divisions by the base.
std::string Integer::to_string(int base) const {
  if (!large_ && base == 10) return std::to_string(small_);
  Large rest = widened(*this);
  std::string digits;
  while (!rest.limbs.empty()) digits += "0123456789abcdef"[divide_by(rest.limbs, static_cast<uint32_t>(base))];
  if (digits.empty()) digits = "0";
  if (rest.negative) digits += '-';
  std::ranges::reverse(digits);
  return digits;
}

// The nearest double; a number beyond all doubles is an error, as in Python.
double Integer::to_double() const {
  if (!large_) return static_cast<double>(small_);
  const double value = rounded(large_->limbs, false, 0);
  if (std::isinf(value)) fail("a whole number too large for a floating point number");
  return large_->negative ? -value : value;
}

size_t Integer::bits() const { return bits_of(widened(*this).limbs); }

// A large number has left the range of small ones, so lengths and limbs decide between them.
std::strong_ordering Integer::operator<=>(const Integer& other) const {
  if (!large_ && !other.large_) return small_ <=> other.small_;
  if (is_negative() != other.is_negative())
    return is_negative() ? std::strong_ordering::less : std::strong_ordering::greater;
  const auto by_magnitude = compare(widened(*this).limbs, widened(other).limbs);
  return is_negative() ? 0 <=> by_magnitude : by_magnitude;
}

// The least 64-bit number has no negative of 64 bits.
Integer Integer::operator-() const {
  if (!large_ && small_ != std::numeric_limits<int64_t>::min()) return -small_;
  Large large = widened(*this);
  large.negative = !large.negative;
  return narrowed(std::move(large));
}

// Small numbers are added at once unless they overflow. Otherwise magnitudes are added or subtracted by their signs.
Integer operator+(const Integer& a, const Integer& b) {
  int64_t quick = 0;
  if (!a.large_ && !b.large_ && !__builtin_add_overflow(a.small_, b.small_, &quick)) return quick;
  const Integer::Large left = Integer::widened(a), right = Integer::widened(b);
  if (left.negative == right.negative) return Integer::narrowed({left.negative, sum(left.limbs, right.limbs)});
  const bool left_is_larger = compare(left.limbs, right.limbs) >= 0;
  return Integer::narrowed(left_is_larger ? Integer::Large{left.negative, difference(left.limbs, right.limbs)}
                                          : Integer::Large{right.negative, difference(right.limbs, left.limbs)});
}

// Tries the fast product first. The builtin says whether it has overflowed.
Integer operator*(const Integer& a, const Integer& b) {
  int64_t quick = 0;
  if (!a.large_ && !b.large_ && !__builtin_mul_overflow(a.small_, b.small_, &quick)) return quick;
  const Integer::Large left = Integer::widened(a), right = Integer::widened(b);
  return Integer::narrowed({left.negative != right.negative, product(left.limbs, right.limbs)});
}

// The division of magnitudes cuts towards zero. Python rounds down, so a negative quotient with a rest is one less.
Integer::Division Integer::divide(const Integer& a, const Integer& b) {
  if (b.is_zero()) fail("a division by zero");
  const Large left = widened(a), right = widened(b);
  Quotient of = long_division(left.limbs, right.limbs);
  Division result{narrowed({left.negative != right.negative, std::move(of.quotient)}),
                  narrowed({left.negative, std::move(of.remainder)})};
  if (!result.remainder.is_zero() && left.negative != right.negative) {
    result.quotient = result.quotient - 1;
    result.remainder = result.remainder + b;
  }
  return result;
}

// Numbers up to 2^53 are exact as doubles. A larger dividend gets at least 66 bits more than the divisor has, so the
// quotient has more bits than a double and is rounded once.
double Integer::true_divide(const Integer& a, const Integer& b) {
  if (b.is_zero()) fail("a division by zero");
  const auto exact = [](const Integer& x) {
    return x.fits() && x.small() <= kExactDouble && x.small() >= -kExactDouble;
  };
  if (exact(a) && exact(b)) return static_cast<double>(a.small()) / static_cast<double>(b.small());
  const Large left = widened(a), right = widened(b);
  const size_t wanted = bits_of(right.limbs) + 66, has = bits_of(left.limbs), shift = wanted > has ? wanted - has : 0;
  const Quotient of = long_division(shifted_left(left.limbs, shift), right.limbs);
  const double value = rounded(of.quotient, !of.remainder.empty(), -static_cast<int>(shift));
  if (std::isinf(value)) fail("a quotient too large for a floating point number");
  return left.negative != right.negative ? -value : value;
}

// Powers by squaring. The size of the result is estimated first, because an exponent is quickly too large.
Integer Integer::power(const Integer& base, const Integer& exponent) {
  if (exponent.is_zero()) return 1;
  const bool trivial = base.fits() && base.small() >= -1 && base.small() <= 1;
  if (!trivial && (!exponent.fits() || exponent.small() > static_cast<int64_t>(32 * kMostLimbs) ||
                   (base.bits() - 1) * static_cast<size_t>(exponent.small()) > 32 * kMostLimbs))
    fail_too_large("a number of more than 4,300 digits");
  if (trivial) {
    if (base.small() >= 0) return base;
    return divide(exponent, 2).remainder.is_zero() ? Integer(1) : base;
  }
  Integer result = 1, square = base;
  for (int64_t rest = exponent.small(); rest > 0;) {
    if (rest % 2 == 1) result = result * square;
    rest /= 2;
    if (rest > 0) square = square * square;
  }
  return result;
}

}  // namespace tandem::chat
