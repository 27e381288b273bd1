#include "npu_emu/number_format.h"

#include "packed/decode.h"

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

// Dense weights enter the array as 16-bit floats. Packed codes are decoded inside the cell to f32, and that value is
// not rounded.
float cell_weight(const PackedFormat& format, const std::byte* panel, int64_t column, int64_t row) {
  const float weight = decode_weight(format, panel, column, row);
  return format.dense() ? round_to_half(weight) : weight;
}

}  // namespace tandem::npu_emu
