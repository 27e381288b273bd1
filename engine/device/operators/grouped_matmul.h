// The operator GroupedMatMul: products with several matrices, chosen by experts or by heads.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/device/operators/expert_lists.h"

namespace tandem {

// Each of a token's slots is multiplied with its own matrix, as in MatMul. For slot i of token s:
//   y[s, i, n] = sum over K of w[m][n, K] * x[s, i, K], in the runs of packed/runs.h,
// with m = ids[s * slots + i] (experts), or m = i when tokens are not routed (heads).
struct GroupedMatMul {
  int64_t S = 0, slots = 0;
  PackedStack w;  // N = w.rows, K = w.columns
  Operand ids;    // int32 [S, slots]; not routed: absent, and slots is w.count
  Operand lists;  // from ExpertLists for these ids; absent: few tokens, or not routed
  Operand x;      // slot i of token s at s * x_stride + i * x_slot; x_slot 0: all slots share one row
  int64_t x_stride = 0, x_slot = 0;
  Operand y;  // at s * y_stride + i * y_slot
  int64_t y_stride = 0, y_slot = 0;
  bool routed = true;
  bool act_i8 = false;  // as in MatMul
  // Only choices in the lists are multiplied, and the results of others keep their values. ids may be kElsewhere then.
  bool listed_only = false;
  double share = 1;  // the part of the choices that is expected in the lists; costs are counted by it
  // G2: the sum is over these columns of every matrix alone, in whole blocks (slice_columns). 0: all columns.
  int64_t column_begin = 0, column_count = 0;

  bool operator==(const GroupedMatMul&) const = default;
  const char* kind() const { return "grouped_matmul"; }
  Features features() const {
    Features all{Feature::grouped_products};
    if (act_i8) all.add(Feature::integer_activations);
    if (column_count > 0) all.add(Feature::product_columns);
    return all;
  }
  int64_t columns() const { return column_count > 0 ? column_count : w.columns; }  // K of the sums
  double flops() const { return share * 2.0 * S * slots * w.rows * columns(); }
  // The expected number of matrices that are read, if the choices were even and independent. A stack of slots may have
  // fewer matrices than a token has choices.
  double expected_matrices() const {
    const auto count = static_cast<double>(w.count);
    const double left_out = std::max(0.0, 1 - static_cast<double>(slots) / count);
    return routed ? count * (1 - std::pow(left_out, share * static_cast<double>(S))) : count;
  }
  template <typename Self>
  static auto views(Self& op) {
    const double used = op.expected_matrices() * static_cast<double>(op.columns()) / static_cast<double>(op.w.columns);
    const auto of_each = static_cast<double>(op.w.rows * op.w.columns);
    const int64_t x_width = (op.slots - 1) * op.x_slot + op.columns();
    return std::array{
        whole(op.w.data, Use::read, Role::weights, op.w.bytes())
            .moving(used * of_each, used * static_cast<double>(packed_bytes(op.w.format, op.w.rows, op.w.columns))),
        ids_of(op.ids, Use::read, op.S, op.slots).only_if(op.routed),
        ids_of(op.lists, Use::read, op.S, expert_list_words(op.w.count, op.slots)).only_if(static_cast<bool>(op.lists)),
        rows_of(op.x, Use::read, op.S, x_width, op.x_stride), results_of(op)};
  }

 private:
  // If the slots of a token end where those of the next token begin, they are rows like any other. Otherwise the write
  // covers the values between them too: `update`, because these keep their values. So do choices that are not listed.
  template <typename Self>
  static auto results_of(Self& op) {
    const double results = static_cast<double>(op.S * op.slots * op.w.rows);
    const bool even = op.y_stride == op.slots * op.y_slot;
    const Use all = op.listed_only ? Use::update : Use::write;
    auto view = even ? rows_of(op.y, all, op.S * op.slots, op.w.rows, op.y_slot)
                     : rows_of(op.y, op.slots == 1 ? all : Use::update, op.S, (op.slots - 1) * op.y_slot + op.w.rows,
                               op.y_stride);
    view.token_bytes = bytes_of_floats(op.y_stride);
    return std::move(view).moving(results, results * sizeof(float));
  }
};

// Rows [begin, end) of every matrix, in whole panels: multiples of 64, or the last row. The slice computes the same
// bits as the whole and writes no byte that another slice writes. Error when the cut does not fit.
GroupedMatMul slice_rows(const GroupedMatMul& op, int64_t begin, int64_t end);

// G2: columns [begin, end) of every matrix, which gives partial sums. x begins at the first of these columns. Error
// when the cut does not fit: slices begin and end at multiples of block_of_columns(), or end at the last column.
GroupedMatMul slice_columns(const GroupedMatMul& op, int64_t begin, int64_t end);
// Columns that share something in the packed format: 256 of a super block, otherwise 32.
int64_t block_of_columns(const PackedFormat& format);

}  // namespace tandem
