// The number formats of the array's operands, and what its cells see of activations and weights.
//
// Contract: pure functions, no state. What each format computes is stated once, here:
//   fp16        both operands are halves, products and sums f32: acc = fma(w, a, acc), k ascending.
//   int8        both operands int8 (4-bit codes fit), sums int32 (exact); a scale per column is applied when the sum
//               leaves the array, of grouped weights and activations at the end of each group (packed/act_i8.h).
//   int4_fp16   activations are halves; a weight is a 4-bit (or 8-bit) code decoded to f32 at the tile's edge as
//               fma(q, scale, min), then as fp16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "packed/format.h"
#include "packed/half.h"

namespace tandem::npu_emu {

enum class NumberFormat : uint8_t { fp16, int8, int4_fp16 };

const char* to_string(NumberFormat format);                        // "fp16", "int8", "int4"
std::optional<NumberFormat> number_format(std::string_view name);  // the inverse

inline float round_to_half(float value) { return half_to_float(float_to_half(value)); }

// Weight (row, column) of a panel as the cells hold it: what packed/decode.h says, dense values wider than a half
// rounded to one. The plain definition that every faster path equals bit for bit.
float cell_weight(const PackedFormat& format, const std::byte* panel, int64_t column, int64_t row);

}  // namespace tandem::npu_emu
