// The number formats of the array's operands, and the values of activations and weights in its cells.
//
// Contract: pure functions, no state. This is the one definition of what each format computes:
//   fp16        both operands are halves, products and sums f32: acc = fma(w, a, acc), k ascending.
//   int8        both operands are int8 (4-bit codes fit), sums int32 (exact). A scale per column is applied when the
//               sum leaves the array; with grouped weights and activations at the end of each group
//               (packed/act_i8.h).
//   int4_fp16   activations are halves. The tile's edge decodes a 4-bit (or 8-bit) code of a weight to f32 as
//               fma(q, scale, min); the rest is as with fp16.
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

// Weight (row, column) of a panel as the cells hold it: the value of packed/decode.h, but dense values wider than a
// half are rounded to one. This is the plain definition, and every faster path gives the same bits.
float cell_weight(const PackedFormat& format, const std::byte* panel, int64_t column, int64_t row);

}  // namespace tandem::npu_emu
