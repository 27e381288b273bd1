#include "tests/engine/device/stated_product.h"

#include <cmath>
#include <vector>

#include "packed/act_i8.h"
#include "packed/decode.h"
#include "packed/row_product.h"

namespace tandem::testing {
namespace {

const std::byte* panel_of(const MatMul& op, int64_t row) {
  return op.w.data.as<std::byte>() + static_cast<size_t>(row / kPanelRows) * panel_bytes(op.w.format, op.K);
}

// The weight, where a minimum is added by `multiply_add`.
float decoded_weight(const MatMul& op, int64_t column, int64_t row, MultiplyAdd multiply_add) {
  const PackedFormat& format = op.w.format;
  const int64_t r = row % kPanelRows, k = column % kTileColumns;
  if (format.dense() || format.min == MinKind::none) return decode_weight(format, panel_of(op, row), column, r);
  const TileView view = tile_view(format, panel_of(op, row), column / kTileColumns);
  const Affine affine = affine_of(format, view, k / format.group, r);
  return multiply_add(static_cast<float>(code_of(format, view, k, r)), affine.scale, affine.minimum);
}

void run_stated_groups(const MatMul& op, MultiplyAdd multiply_add) {
  std::vector<ActBlock> x(static_cast<size_t>(op.K / kActGroup));
  for (int64_t s = 0; s < op.S; ++s) {
    quantise_act(op.x.as<float>() + s * op.x_stride, op.K, x.data());
    for (int64_t n = op.row_begin; n < op.row_end; ++n)
      op.y.as<float>()[s * op.y_stride + n] =
          act_row_product(op.w.format, panel_of(op, n), op.K, n % kPanelRows, x.data(), multiply_add);
  }
}

}  // namespace

float in_one_rounding(float a, float b, float sum) { return std::fma(a, b, sum); }
float in_two_roundings(float a, float b, float sum) { return a * b + sum; }

void run_stated_product(const MatMul& op, MultiplyAdd multiply_add) {
  if (op.act_i8) return run_stated_groups(op, multiply_add);
  std::vector<float> w(static_cast<size_t>(op.K));
  for (int64_t n = op.row_begin; n < op.row_end; ++n) {
    for (int64_t k = 0; k < op.K; ++k) w[static_cast<size_t>(k)] = decoded_weight(op, k, n, multiply_add);
    for (int64_t s = 0; s < op.S; ++s)
      op.y.as<float>()[s * op.y_stride + n] =
          row_product(w.data(), op.x.as<float>() + s * op.x_stride, op.K, multiply_add);
  }
}

}  // namespace tandem::testing
