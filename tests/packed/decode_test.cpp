// Decoding against the formulas of packed/format.h, which this file writes out again for every format.
#include "packed/decode.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "packed/half.h"
#include "packed/row_product.h"
#include "tests/packed/random_panels.h"

namespace tandem {
namespace {

using test::all_formats, test::random_panels;

template <typename T>
T at(const std::byte* from, size_t index) {
  T value;
  std::memcpy(&value, from + index * sizeof(T), sizeof(T));
  return value;
}

// Twice a float of 4 bits: a sign, two bits of exponent and one of mantissa.
int twice_e2m1(int code) {
  const int exponent = code / 2 % 4, mantissa = code % 2;
  const int magnitude = exponent == 0 ? mantissa : (2 + mantissa) << (exponent - 1);
  return code < 8 ? magnitude : -magnitude;
}

// The published values of IQ4_NL.
constexpr int kIq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// The formula. Every offset counts from the panel's first byte.
float by_the_page(const PackedFormat& format, const std::byte* panel, int64_t column, int64_t row) {
  const size_t index = static_cast<size_t>(column * 64 + row);
  if (format.kind == PackedKind::f32) return at<float>(panel, index);
  if (format.kind == PackedKind::f16) return half_to_float(at<uint16_t>(panel, index));
  if (format.kind == PackedKind::bf16) return bf16_to_float(at<uint16_t>(panel, index));
  const bool super = format.scale != ScaleKind::half, with_min = format.min == MinKind::explicit_;
  const size_t arrays = with_min ? 2 : 1, groups = 32 / static_cast<size_t>(format.group), number = super ? 1 : 2;
  const size_t codes = format.kind == PackedKind::i4 ? 1024 : 2048, tile = arrays * number * groups * 64 + codes;
  const size_t header = super ? arrays * 128 : 0, tile_index = static_cast<size_t>(column / 32);
  const std::byte* block = panel + tile_index / 8 * (header + 8 * tile);
  const std::byte* start = super ? block + header + tile_index % 8 * tile : panel + tile_index * tile;
  const size_t k = static_cast<size_t>(column % 32), r = static_cast<size_t>(row);
  const size_t shared = k / static_cast<size_t>(format.group) * 64 + r;
  const std::byte* quants = start + tile - codes;
  float q = 0;
  if (format.kind == PackedKind::i8) {
    q = at<int8_t>(quants, k * 64 + r);
  } else {
    const int pair = at<uint8_t>(quants, k / 2 * 64 + r % 16 * 4 + r / 16);
    const int code = k % 2 == 0 ? pair % 16 : pair / 16;
    const int number = format.book == CodeBook::none  ? code
                       : format.book == CodeBook::iq4 ? kIq4[code]
                                                      : twice_e2m1(code);
    q = static_cast<float>(number);
  }
  float scale = 0, min = 0;
  if (super) {
    scale = half_to_float(at<uint16_t>(block, r)) * at<int8_t>(start, shared);
    if (format.scale == ScaleKind::eighths) scale /= 8;
    if (with_min) min = -(half_to_float(at<uint16_t>(block, 64 + r)) * at<uint8_t>(start, groups * 64 + shared));
  } else {
    scale = half_to_float(at<uint16_t>(start, shared));
    if (with_min) min = half_to_float(at<uint16_t>(start, groups * 64 + shared));
  }
  if (format.min == MinKind::none) return q * scale;
  return std::fma(q, scale, with_min ? min : -(static_cast<float>(format.zero_point) * scale));
}

TEST(Decoding, gives_the_formulas_value_of_every_format) {
  const int64_t rows = 70, columns = 512;  // a panel and a part of one; two super blocks
  for (const PackedFormat& format : all_formats()) {
    const std::vector<std::byte> panels = random_panels(format, rows, columns);
    std::vector<float> whole(columns);
    for (int64_t row = 0; row < rows; row += 23) {
      decode_packed_row(format, panels.data(), columns, row, whole.data());
      const std::byte* panel = panels.data() + static_cast<size_t>(row / 64) * panel_bytes(format, columns);
      for (int64_t k = 0; k < columns; ++k) {
        const auto expected = std::bit_cast<uint32_t>(by_the_page(format, panel, k, row % 64));
        ASSERT_EQ(std::bit_cast<uint32_t>(whole[static_cast<size_t>(k)]), expected) << to_string(format) << " " << k;
        ASSERT_EQ(std::bit_cast<uint32_t>(decode_weight(format, panel, k, row % 64)), expected) << to_string(format);
      }
    }
  }
}

// The example of docs/numbers.md: 160 columns are three tiles and so three runs. In the first one 2^24 + 1 rounds back
// to 2^24, for every column. The others are 64 and 32, and one chain would lose these too.
TEST(RowProduct, adds_the_runs_of_the_worked_example) {
  const std::vector<float> weights(160, 1);
  std::vector<float> x(160, 1);
  x[0] = 0x1p24F;
  EXPECT_EQ(row_product(weights.data(), x.data(), 160), 0x1p24F + 96);
}

// The total begins at zero, so a sum of -0 becomes +0. The product underflows to -0.
TEST(RowProduct, is_not_negative_zero) {
  const float weight = -0x1p-100F, x = 0x1p-100F;
  EXPECT_FALSE(std::signbit(row_product(&weight, &x, 1)));
}

}  // namespace
}  // namespace tandem
