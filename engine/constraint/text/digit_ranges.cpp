// Splits an interval of numbers into products of digit ranges, so that a number can be checked digit by digit. A digit
// may have any base, for example 16 in the escapes of JSON texts.
#include "engine/constraint/text/digit_ranges.h"

namespace tandem::constraint {
namespace {

// Splits a range by its first digit. The first and the last digit may leave the rest bounded, and digits between them
// leave it free. So a range of n digits needs at most 2n - 1 pieces.
void find(uint64_t low, uint64_t high, std::span<const uint32_t> bases, DigitRanges& front,
          std::vector<DigitRanges>& found) {
  if (bases.empty()) {
    found.push_back(front);
    return;
  }
  const auto rest = bases.subspan(1);
  uint64_t unit = 1;
  for (const uint32_t base : rest) unit *= base;
  auto first = static_cast<uint32_t>(low / unit), last = static_cast<uint32_t>(high / unit);
  const auto with = [&](uint32_t from, uint32_t to, uint64_t rest_low, uint64_t rest_high) {
    front.push_back({from, to});
    find(rest_low, rest_high, rest, front, found);
    front.pop_back();
  };
  if (first == last) return with(first, first, low % unit, high % unit);
  if (low % unit != 0) {
    with(first, first, low % unit, unit - 1);
    ++first;
  }
  const bool is_cut = high % unit != unit - 1;
  if (const uint32_t whole = is_cut ? last - 1 : last; first <= whole) with(first, whole, 0, unit - 1);
  if (is_cut) with(last, last, 0, high % unit);
}

}  // namespace

std::vector<DigitRanges> digit_ranges(uint64_t low, uint64_t high, std::span<const uint32_t> bases) {
  std::vector<DigitRanges> found;
  DigitRanges front;
  find(low, high, bases, front, found);
  return found;
}

}  // namespace tandem::constraint
