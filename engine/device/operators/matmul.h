// The operator MatMul: activations times packed weights.
#pragma once

#include "engine/device/operators/view.h"

namespace tandem {

// Up to this many tokens, GPU kernels have the number of tokens as a constant: all sums fit the registers beside the
// decoded weights.
inline constexpr int64_t kSmallBatch = 8;

// y[s, n] = sum over k of w[n, k] * x[s, k], in the runs of packed/runs.h, for n in [row_begin, row_end). act_i8: uses
// 8-bit codes of x instead, exact within a group, by the rules of docs/numbers.md.
struct MatMul {
  int64_t S = 0, K = 0;
  int64_t row_begin = 0, row_end = 0;  // multiples of 64, or the last row
  PackedMatrix w;                      // [N, K]
  Operand x;                           // [S, K], stride x_stride
  Operand y;                           // [S, N]: points at column 0, not at row_begin; stride y_stride
  int64_t x_stride = 0, y_stride = 0;
  bool decides = false;  // a router's matmul: its result chooses experts, so its weights must not be rounded
  // The device makes the codes of x, with the same result on every device; weights must not be dense.
  bool act_i8 = false;

  bool operator==(const MatMul&) const = default;
  const char* kind() const { return "matmul"; }
  Features features() const {
    Features all{Feature::products};
    if (act_i8) all.add(Feature::integer_activations);
    if (decides && !w.format.exact_in_f16_contract()) all.add(Feature::unrounded_weights);
    return all;
  }
  double flops() const { return 2.0 * S * K * (row_end - row_begin); }
  template <typename Self>
  static auto views(Self& op) {
    return std::array{panels_of(op.w.data, op.w, op.row_begin, op.row_end),
                      rows_of(op.x, Use::read, op.S, op.K, op.x_stride),
                      rows_of(op.y, Use::write, op.S, op.row_end - op.row_begin, op.y_stride, op.row_begin)};
  }
};

// Output rows [begin, end), counted like row_begin and row_end: multiples of 64, or the operator's last row. The slice
// computes the same bits as the whole. Error when the cut does not fit.
MatMul slice_rows(const MatMul& op, int64_t begin, int64_t end);

}  // namespace tandem
