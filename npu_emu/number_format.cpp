#include "npu_emu/number_format.h"

#include <bit>

namespace tandem::npu_emu {

namespace {

constexpr struct {
  NumberFormat format;
  const char* name;
} kNames[] = {{NumberFormat::fp16, "fp16"}, {NumberFormat::int8, "int8"}, {NumberFormat::int4_fp16, "int4"}};

}  // namespace

const char* to_string(NumberFormat format) {
  for (const auto& row : kNames)
    if (row.format == format) return row.name;
  return "unknown";
}

std::optional<NumberFormat> number_format(std::string_view name) {
  for (const auto& row : kNames)
    if (name == row.name) return row.format;
  return std::nullopt;
}

float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 31u, mantissa = half & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  // Subnormal halves are mantissa * 2^-24, exact in f32.
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));  // NaN
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // 65520 and more round to infinity
  if (magnitude < 0x38800000u) {
    // Below the smallest normal half: adding 0.5 leaves the mantissa in units of 2^-24, rounded to nearest even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);  // half of the lost unit, ties to even
  return static_cast<uint16_t>(sign | (rounded - 0x38000000u) >> 13);
}

}  // namespace tandem::npu_emu
