#include "packed/act_i8.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "packed/row_product.h"

namespace tandem {
namespace {

// The bits without the sign. Read as integers, they have the order of the magnitudes, then infinity, then NaNs.
int32_t magnitude_bits(float value) { return std::bit_cast<int32_t>(value) & 0x7fffffff; }

// The nearest integer (ties to even) of a value within +-2^22: the low bits of the sum are the integer.
int32_t nearest(float value) { return std::bit_cast<int32_t>(value + 12582912.0F) - 0x4b400000; }

// The largest magnitude of the group becomes code 127 or -127. Scale and reciprocal come from one division each, and
// faster loops divide likewise, because every bit counts.
ActBlock quantised(const float* x) {
  ActBlock block{};
  int32_t largest = 0;
  for (int64_t k = 0; k < kActGroup; ++k) largest = std::max(largest, magnitude_bits(x[k]));
  const float magnitude = std::bit_cast<float>(largest);
  if (!std::isfinite(magnitude)) block.scale = std::numeric_limits<float>::quiet_NaN();
  if (!std::isfinite(magnitude) || magnitude < kSmallestActMagnitude) return block;
  block.scale = magnitude / 127.0F;
  const float inverse = 127.0F / magnitude;
  for (int64_t k = 0; k < kActGroup; ++k) {
    const int32_t code = nearest(x[k] * inverse);
    block.codes[act_code_at(k)] = static_cast<int8_t>(code);
    block.sums[k / 16] += code;
  }
  return block;
}

}  // namespace

void quantise_act(const float* x, int64_t columns, ActBlock* to) {
  for (int64_t k = 0; k < columns; k += kActGroup) *to++ = quantised(x + k);
}

const char* misfit_act_i8(const PackedFormat& format) {
  return format.dense() ? "f32, f16 and bf16 weights have no integers to multiply" : nullptr;
}

float act_i8_product(const PackedFormat& format, const std::byte* panel, int64_t columns, int64_t row,
                     const ActBlock* x) {
  return act_row_product(format, panel, columns, row, x,
                         [](float a, float b, float sum) { return std::fma(a, b, sum); });
}

}  // namespace tandem
