// A text's vector in words: as digits, or in base64.
#pragma once

#include <span>
#include <string>

namespace tandem {

// The values as little-endian f32, one after the other (RFC 4648, with padding).
std::string base64_of(std::span<const float> vector);
// The shortest digits that give the same f32 again.
std::string shortest_digits(float value);
// The double of these digits. A number of JSON is a double, and then the same digits are written.
double written_double(float value);

}  // namespace tandem
