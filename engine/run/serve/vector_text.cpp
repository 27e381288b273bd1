#include "engine/run/serve/vector_text.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace tandem {

// Three bytes become four characters of six bits. The machine's floats are little-endian, as GGUF files are.
std::string base64_of(std::span<const float> vector) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::span<const std::byte> bytes = std::as_bytes(vector);
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t word = 0;
    for (size_t i = 0; i < 3; ++i)
      word = word << 8 | (at + i < bytes.size() ? std::to_integer<uint32_t>(bytes[at + i]) : 0);
    for (size_t i = 0; i < 4; ++i) text += at + i <= bytes.size() ? kDigits[word >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

// The fewest digits that read back as the same float.
std::string shortest_digits(float value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

double written_double(float value) { return std::strtod(shortest_digits(value).c_str(), nullptr); }

}  // namespace tandem
