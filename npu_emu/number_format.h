// The number formats of the array's operands, and IEEE half conversion (exact, round to nearest even).
//
// Contract: pure functions, no state. What each format computes is stated once, here:
//   fp16        both operands are halves, products and sums f32: acc = fma(w, a, acc), k ascending.
//   int8        both operands int8, sums int32 (exact); a scale per column is applied when the sum leaves the array.
//   int4_fp16   activations are halves; a weight is a 4-bit (or 8-bit) code decoded to f32 at the tile's edge as
//               fma(q, scale, min), then as fp16.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem::npu_emu {

enum class NumberFormat : uint8_t { fp16, int8, int4_fp16 };

const char* to_string(NumberFormat format);                        // "fp16", "int8", "int4"
std::optional<NumberFormat> number_format(std::string_view name);  // the inverse

float half_to_float(uint16_t half);
uint16_t float_to_half(float value);
inline float round_to_half(float value) { return half_to_float(float_to_half(value)); }

}  // namespace tandem::npu_emu
