// IEEE half and bfloat16 <-> float in software: exact, rounded to nearest, ties to even. NaNs become quiet, as
// in hardware.
#pragma once

#include <cstdint>

namespace tandem {

float half_to_float(uint16_t half);
uint16_t float_to_half(float value);
float bf16_to_float(uint16_t value);
uint16_t float_to_bf16(float value);
inline float round_to_half(float value) { return half_to_float(float_to_half(value)); }

}  // namespace tandem
