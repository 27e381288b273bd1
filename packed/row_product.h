// The product of a row of decoded weights and a token's activations, by the numeric contract (docs/numbers.md). This is
// the plain definition, and every faster path gives the same bits.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "packed/act_i8.h"
#include "packed/decode.h"
#include "packed/runs.h"

namespace tandem {

// A chain of multiply-adds for each run of columns, and the runs added in their order. multiply_add(w, x, sum) is
// std::fma by the contract; a device whose fma is not fused rounds twice.
template <typename MultiplyAdd>
float row_product(const float* weights, const float* x, int64_t columns, MultiplyAdd multiply_add) {
  float total = 0;
  for (ColumnRun run(columns); run.is_valid(); run.next()) {
    float sum = 0;
    for (int64_t k = run.first_column(); k < run.end_column(); ++k) sum = multiply_add(weights[k], x[k], sum);
    total += sum;
  }
  return total;
}

// The same for row `row` of a panel of integers and the blocks of one token (packed/act_i8.h). The sum of a group is
// exact, because it is a sum of integers. It joins the chain by one multiply-add, and an explicit minimum by a second
// one. Groups follow in ascending order.
template <typename MultiplyAdd>
float act_row_product(const PackedFormat& format, const std::byte* panel, int64_t columns, int64_t row,
                      const ActBlock* x, MultiplyAdd multiply_add) {
  float total = 0;
  for (ColumnRun run(columns); run.is_valid(); run.next()) {
    float acc = 0;
    for (int64_t k = run.first_column(); k < run.end_column(); k += format.group) {
      const ActBlock& block = x[k / kTileColumns];
      const TileView view = tile_view(format, panel, k / kTileColumns);
      const int64_t first = k % kTileColumns;
      const Affine affine = affine_of(format, view, first / format.group, row);
      int32_t sum = 0, codes = 0;
      for (int64_t i = first; i < first + format.group; ++i) {
        const int32_t code = block.codes[act_code_at(i)];
        sum += (code_of(format, view, i, row) - format.zero_point) * code;
        codes += code;
      }
      acc = multiply_add(static_cast<float>(sum), affine.scale * block.scale, acc);
      if (format.min == MinKind::explicit_)
        acc = multiply_add(affine.minimum, block.scale * static_cast<float>(codes), acc);
    }
    total += acc;
  }
  return total;
}

inline float row_product(const float* weights, const float* x, int64_t columns) {
  return row_product(weights, x, columns, [](float w, float a, float sum) { return std::fma(w, a, sum); });
}

}  // namespace tandem
