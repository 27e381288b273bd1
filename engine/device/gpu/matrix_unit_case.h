// Products with which a device shows at start that its matrix units have the host's bits (OpenCL and Vulkan).
//
// Contract: plain values. Threads: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "packed/act_i8.h"
#include "packed/format.h"

namespace tandem::gpu {

// One panel of 64 rows, and 64 tokens.
struct MatrixUnitCase {
  static constexpr int64_t kTokens = 64, kColumns = 2048;
  static constexpr size_t kSums = static_cast<size_t>(kPanelRows * kTokens);

  PackedFormat format;
  std::vector<std::byte> panel, pieces;  // the weights in panel order, and in pieces of rows (row_pieces.h)
  std::vector<ActBlock> codes;           // [tokens, columns / 32]

  // The sizes behind the bytes of a panel in a product's arguments: columns, first row, end of the rows, words of a
  // token's codes, sums of a token, tokens.
  static std::array<int32_t, 6> sizes();
  // Whether y [tokens, rows] has the bits of act_i8_product(). Every eighth sum is compared, so that all rows and
  // tokens have some: each start of a device waits for this.
  bool has_plain_bits(std::span<const float> y) const;
};

// Codes of 4 bits with a zero point, and of 8 bits.
std::vector<MatrixUnitCase> matrix_unit_cases();

}  // namespace tandem::gpu
