// Reads a number from a text.
//
// Contract: pure. The whole text must be the number, without blanks, a plus sign or a prefix such as "0x". It means the
// same in every locale. Nothing: the text is no number, or the type cannot hold it. Types with a sign take a minus
// sign, and floating-point types take "inf" and "nan" too, so callers check the range.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace tandem {

// base: of the digits of a whole number; 10 without it.
template <typename Number, typename... Base>
std::optional<Number> parse_number(std::string_view text, Base... base) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value, base...);
  if (error != std::errc() || last != end) return std::nullopt;
  return value;
}

}  // namespace tandem
