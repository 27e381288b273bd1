// The products by which a device proves its matrix units. The tests need no device.
#include "engine/device/gpu/matrix_unit_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/device/gpu/row_pieces.h"

namespace tandem::gpu {
namespace {

std::vector<float> plain_product(const MatrixUnitCase& units) {
  std::vector<float> y(MatrixUnitCase::kSums);
  for (size_t i = 0; i < y.size(); ++i) {
    const int64_t token = static_cast<int64_t>(i) / kPanelRows, row = static_cast<int64_t>(i) % kPanelRows;
    y[i] = act_i8_product(units.format, units.panel.data(), MatrixUnitCase::kColumns, row,
                          units.codes.data() + token * MatrixUnitCase::kColumns / kActGroup);
  }
  return y;
}

TEST(MatrixUnitCase, holds_for_the_plain_definition_and_for_nothing_else) {
  for (const MatrixUnitCase& units : matrix_unit_cases()) {
    SCOPED_TRACE(to_string(units.format));
    std::vector<float> y = plain_product(units);
    EXPECT_TRUE(units.has_plain_bits(y));
    for (const size_t at : {size_t{0}, y.size() / 2 + 8, y.size() - 2 * kPanelRows + 2}) {
      const float right = y[at];
      y[at] = std::nextafter(right, 1e9f);
      EXPECT_FALSE(units.has_plain_bits(y)) << "sum " << at;
      y[at] = right;
    }
    EXPECT_FALSE(units.has_plain_bits(std::span(y).first(64)));
  }
}

// Tokens or rows that are swapped, and runs that are left out, must not pass.
TEST(MatrixUnitCase, has_a_sum_of_its_own_for_most_rows_and_tokens) {
  for (const MatrixUnitCase& units : matrix_unit_cases()) {
    const std::vector<float> y = plain_product(units);
    EXPECT_GT(std::set(y.begin(), y.end()).size(), y.size() * 9 / 10);
    EXPECT_GE(MatrixUnitCase::kColumns, 16 * 64) << "every run has columns";
    EXPECT_EQ(units.pieces.size(), units.panel.size());
    EXPECT_NE(units.pieces, units.panel);
  }
}

}  // namespace
}  // namespace tandem::gpu
