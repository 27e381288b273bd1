// Reading and comparing logits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace tandem::testing {

inline std::vector<float> read_floats(const std::string& path) {
  std::vector<float> values(std::filesystem::file_size(path) / sizeof(float));
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  return values;
}

// The largest difference of two values. Infinite if a value is NaN.
inline double largest_difference(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    if (std::isnan(difference)) return INFINITY;
    largest = std::max(largest, difference);
  }
  return largest;
}

// The root of the mean square of differences. Infinite if a value is NaN.
inline double rms_difference(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return INFINITY;
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - b[i];
    squares += difference * difference;
  }
  return std::isnan(squares) ? INFINITY : std::sqrt(squares / static_cast<double>(a.size()));
}

// The number of values that differ in any bit.
inline size_t different_bits(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return std::max(a.size(), b.size());
  size_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += std::memcmp(&a[i], &b[i], sizeof(float)) != 0;
  return count;
}

// Rows [first, first + count) of logits of `width` values each.
inline std::span<const float> rows(std::span<const float> logits, int64_t first, int64_t count, int64_t width) {
  return logits.subspan(static_cast<size_t>(first * width), static_cast<size_t>(count * width));
}

// Ids that repeat no short pattern.
inline std::vector<int32_t> some_ids(int64_t vocabulary, int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>((i * i * 7 + 13 * i + 3) % vocabulary));
  return ids;
}

}  // namespace tandem::testing
