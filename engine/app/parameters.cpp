#include "engine/app/parameters.h"

#include <cstdio>
#include <random>

#include "sync/parse_number.h"

namespace tandem::app {

// Text behind the number makes the reader refuse all of it: `5x` is a mistake, not 5.
std::optional<int64_t> read_whole(std::string_view text, const WholeRange& range) {
  const auto value = parse_number<int64_t>(text);
  if (!value || *value < range.least || *value > range.most) return std::nullopt;
  return value;
}

std::string to_string(const WholeRange& range) {
  return "a whole number from " + std::to_string(range.least) + " to " + std::to_string(range.most);
}

std::optional<double> read_number(std::string_view text, double least, double most) {
  const auto value = parse_number<double>(text);
  // The comparison is written so that NaN, for which every comparison is false, is refused.
  if (!value || !(*value >= least && *value <= most)) return std::nullopt;
  return value;
}

// A drawn seed is marked, so that reports show it and the run can be repeated.
std::optional<Seed> read_seed(std::string_view text) {
  if (text == "-1") return Seed{std::random_device()(), true};
  if (text == "-0") return Seed{0, false};  // JSON may write 0 so
  const auto value = parse_number<uint64_t>(text);
  return value ? std::optional(Seed{*value, false}) : std::nullopt;
}

// Three digits that count. Rounding limits (999.5, 99.95, 9.995) prevent a result such as "1000 K".
std::string in_thousands(double count, const char* billions) {
  const char* const units[] = {"", " K", " M", " ", " T"};
  size_t unit = 0;
  for (; count >= 999.5 && unit + 1 < std::size(units); ++unit) count /= 1000;
  char number[32];
  std::snprintf(number, sizeof number, unit == 0 || count >= 99.95 ? "%.0f" : count >= 9.995 ? "%.1f" : "%.2f", count);
  return std::string(number) + units[unit] + (unit == 3 ? billions : "");
}

std::string describe_drawn(const Seed& seed) {
  if (!seed.is_drawn) return "";
  const std::string number = std::to_string(seed.value);
  return "seed " + number + " (drawn: --seed " + number + " gives the same again)";
}

}  // namespace tandem::app
