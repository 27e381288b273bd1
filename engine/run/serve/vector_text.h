// Vectors in base64: their values as little-endian f32, one after the other (RFC 4648, with padding).
#pragma once

#include <span>
#include <string>

namespace tandem {

std::string base64_of(std::span<const float> vector);

}  // namespace tandem
