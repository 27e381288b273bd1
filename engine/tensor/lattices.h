// The code books of the IQ types: points of small lattices, as digits.
//
// Eight neighbouring values of a block (four for IQ3) are one point of the cube {0, 1, 2}^8 ({0 .. 7}^4), and a block
// stores the point's number. Only some points of the cube are in a code book. They are numbered in ascending order,
// where the first value is the least significant digit. Each type says what a digit stands for
// (engine/tensor/decode.h). The points are facts of the GGUF format; tests/data/storage-types has a checksum of every
// type's values.
//
// Contract: pure functions over constants.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tandem::blocks {

using Point8 = std::array<uint8_t, 8>;
using Point4 = std::array<uint8_t, 4>;

std::span<const Point8, 256> iq2_xxs_points();
std::span<const Point8, 512> iq2_xs_points();
std::span<const Point8, 1024> iq2_s_points();
std::span<const Point8, 2048> iq1_points();
std::span<const Point4, 256> iq3_xxs_points();
std::span<const Point4, 512> iq3_s_points();

// Signs of eight values from seven bits, where a set bit is a minus. The number of minuses is even.
constexpr uint8_t even_signs(uint32_t bits) {
  uint32_t parity = bits & 127;
  parity ^= parity >> 4;
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return static_cast<uint8_t>((bits & 127) | (parity & 1) << 7);
}

}  // namespace tandem::blocks
