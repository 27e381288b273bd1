// For work that is slow beside the rest of a target and depends little on the input. Some inputs do it, always the
// same ones.
#pragma once

#include "tests/fuzz/targets.h"

namespace tandem::fuzz {

// True for about one in `count` inputs, including the empty input.
inline bool one_in(size_t count, Bytes input) {
  size_t sum = 0;
  for (const std::byte byte : input) sum += std::to_integer<size_t>(byte);
  return sum % count == 0;
}

}  // namespace tandem::fuzz
