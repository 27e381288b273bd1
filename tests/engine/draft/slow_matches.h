// Matches of a context's end by the definition: every place of a text is tried.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace tandem::testing {

struct SlowMatch {
  int32_t length = 0, first_end = -1, last_end = -1;
};

// The longest match at the places from 0 on, below `places`, of a text whose tokens may be the context's own.
inline SlowMatch slow_match(std::span<const int32_t> text, int64_t places, std::span<const int32_t> context) {
  SlowMatch best;
  for (int64_t end = 0; end < places; ++end) {
    int32_t length = 0;
    while (length <= end && length < std::ssize(context) &&
           text[static_cast<size_t>(end - length)] == context[context.size() - 1 - static_cast<size_t>(length)])
      ++length;
    if (length == 0 || length < best.length) continue;
    if (length > best.length) best = {length, static_cast<int32_t>(end), -1};
    best.last_end = static_cast<int32_t>(end);
  }
  return best;
}

// So many tokens of a small vocabulary, so that they repeat.
inline std::vector<int32_t> random_tokens(std::mt19937& random, size_t most, int32_t vocabulary) {
  std::vector<int32_t> tokens(random() % (most + 1));
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() % static_cast<uint32_t>(vocabulary));
  return tokens;
}

}  // namespace tandem::testing
