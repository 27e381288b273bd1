// Whether rectangles of tokens and rows cover a matmul once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::testing {

struct Rectangle {
  int64_t token_begin = 0, token_end = 0, row_begin = 0, row_end = 0;
};

inline std::string to_string(const Rectangle& r) {
  return "tokens " + std::to_string(r.token_begin) + ".." + std::to_string(r.token_end) + " of rows " +
         std::to_string(r.row_begin) + ".." + std::to_string(r.row_end);
}

// Returns "" if the parts cover [0, S) x [0, N) exactly: no part leaves it, no two overlap, and their areas add up to
// it. Otherwise returns the fault.
inline std::string fault_of_cover(const std::vector<Rectangle>& parts, int64_t S, int64_t N) {
  int64_t area = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Rectangle& a = parts[i];
    const bool inside = 0 <= a.token_begin && a.token_begin < a.token_end && a.token_end <= S && 0 <= a.row_begin &&
                        a.row_begin < a.row_end && a.row_end <= N;
    if (!inside) return to_string(a) + " is empty or not inside";
    area += (a.token_end - a.token_begin) * (a.row_end - a.row_begin);
    for (size_t j = 0; j < i; ++j) {
      const Rectangle& b = parts[j];
      if (a.token_begin < b.token_end && b.token_begin < a.token_end && a.row_begin < b.row_end &&
          b.row_begin < a.row_end)
        return to_string(a) + " overlaps " + to_string(b);
    }
  }
  return area == S * N ? "" : "not everything is covered";
}

}  // namespace tandem::testing
