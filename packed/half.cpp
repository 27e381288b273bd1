#include "packed/half.h"

#include <bit>

namespace tandem {
namespace {

constexpr uint32_t kQuietBit = 0x00400000;

}  // namespace

float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t magnitude = half & 0x7fff;
  if (magnitude >= 0x7c00) {  // infinity, or a NaN, which becomes quiet as the hardware's conversion makes it
    const uint32_t quiet = magnitude > 0x7c00 ? kQuietBit : 0;
    return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13 | quiet);
  }
  // The bits read as a float are 2^-112 of the value, subnormal halves included; the product is exact.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
}

// Rounds to the nearest half, ties to even. A NaN becomes quiet and keeps the upper bits of its payload.
uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000)
    return sign | 0x7c00;        // 65520 is halfway to the first value that a half cannot hold, and rounds up
  if (magnitude < 0x38800000) {  // below 2^-14: the step of the result is 2^-24
    const float scaled = std::bit_cast<float>(magnitude) + 0.5f;  // an ulp of [0.5, 1) is 2^-24: the sum rounds to even
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(scaled) - 0x3f000000));
  }
  // Adds just under half a step, or half a step if the last bit that stays is odd, and cuts. A carry into the exponent
  // gives the right value. Then the exponent's bias changes from 127 to 15.
  const uint32_t odd = magnitude >> 13 & 1;
  return static_cast<uint16_t>(sign | (((magnitude + 0xfff + odd) >> 13) - (112u << 10)));
}

float bf16_to_float(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

// A bf16 is the upper half of a float, rounded to the nearest one, ties to even. NaNs stay NaNs.
uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((bits | kQuietBit) >> 16);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace tandem
