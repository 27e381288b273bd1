// Ranges of numbers as ranges of their digits: 125 to 349 is 12[5-9], 1[3-9][0-9], 2[0-9][0-9], 3[0-4][0-9].
//
// Contract: pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem::constraint {

struct DigitRange {
  uint32_t low, high;
  auto operator<=>(const DigitRange&) const = default;
};
using DigitRanges = std::vector<DigitRange>;  // one for each digit, the first one first

// bases: of each digit. Numbers are below their product.
std::vector<DigitRanges> digit_ranges(uint64_t low, uint64_t high, std::span<const uint32_t> bases);

}  // namespace tandem::constraint
