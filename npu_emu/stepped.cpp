#include "npu_emu/stepped.h"

#include "packed/runs.h"
#include "sync/error.h"

namespace tandem::npu_emu {

template <typename Mac>
SteppedArray<Mac>::SteppedArray(const ArrayShape& array, Dataflow dataflow, const SteppedProduct<Mac>& product)
    : array_(array),
      dataflow_(dataflow),
      product_(product),
      mapping_(map_product(array, dataflow, product.shape)),
      cells_(static_cast<size_t>(array.rows * array.cols)) {
  const auto& [m, k, n] = product.shape;
  TANDEM_CHECK(m > 0 && k > 0 && n > 0 && array.rows > 0 && array.cols > 0, "a stepped product needs positive extents");
  totals_.resize(static_cast<size_t>(m * n));
  begins_later_run_.resize(static_cast<size_t>(k));
  for (ColumnRun run(k); run.is_valid(); run.next())
    begins_later_run_[static_cast<size_t>(run.first_column())] = !run.is_first();
  begin_fold();
}

template <typename Mac>
int64_t SteppedArray<Mac>::run() {
  while (!done()) step();
  return cycles_;
}

// Row folds run innermost, so that partial sums enter a tile from the tile before, unless a run ends between them.
template <typename Mac>
void SteppedArray<Mac>::begin_fold() {
  row_base_ = fold_ % mapping_.row_folds * array_.rows;
  col_base_ = fold_ / mapping_.row_folds * array_.cols;
  fold_cycle_ = 0;
  for (Cell& cell : cells_) cell = Cell();
}

// One cycle of the whole array. With a stationary operand, a fold spends its first cycles on loading, one for each row
// of the array.
template <typename Mac>
void SteppedArray<Mac>::step() {
  TANDEM_CHECK(!done(), "the product is complete");
  const int64_t fold = fold_;
  if (dataflow_ == Dataflow::output_stationary) {
    step_output(fold_cycle_);
  } else if (fold_cycle_ < array_.rows) {
    load_row(fold_cycle_);
  } else {
    step_stationary(fold_cycle_ - array_.rows);
  }
  ++fold_cycle_;
  ++cycles_;
  if (fold_ != fold && !done()) begin_fold();
}

// The tile moves down by one row, and its next row enters at the top. The bottom row enters first.
template <typename Mac>
void SteppedArray<Mac>::load_row(int64_t cycle) {
  for (int64_t row = array_.rows - 1; row > 0; --row)
    for (int64_t col = 0; col < array_.cols; ++col) at(row, col).held = at(row - 1, col).held;
  for (int64_t col = 0; col < array_.cols; ++col)
    at(0, col).held = stationary(row_base_ + array_.rows - 1 - cycle, col_base_ + col);
}

// Visits the cells from the last to the first, so that each still finds its neighbours' values of the cycle before.
template <typename Mac>
void SteppedArray<Mac>::step_stationary(int64_t cycle) {
  for (int64_t row = array_.rows - 1; row >= 0; --row) {
    for (int64_t col = array_.cols - 1; col >= 0; --col) {
      Cell& cell = at(row, col);
      // Skew: row r receives its operands r cycles later, column c receives them c cycles later.
      cell.right = col > 0 ? at(row, col - 1).right : streamed(cycle - row, row_base_ + row);
      if (row > 0) {
        cell.sum = at(row - 1, col).sum;
        cell.sum_index = at(row - 1, col).sum_index;
      } else {
        cell.sum_index = cycle - col >= 0 && cycle - col < mapping_.streamed ? cycle - col : -1;
        const Sum* partial = cell.sum_index < 0 || row_base_ == 0 ? nullptr : result(cell.sum_index, col_base_ + col);
        cell.sum = partial ? *partial : Sum{};
      }
      // The sum of the run before leaves here, before the cell computes.
      if (cell.sum_index >= 0 && begins_later_run(row_base_ + row)) {
        if (const Sum* out = result(cell.sum_index, col_base_ + col)) total_of(out) += cell.sum;
        cell.sum = Sum{};
      }
      TANDEM_CHECK(cell.right.index == cell.sum_index, "an operand and the sum it belongs to met in different cycles");
      if (cell.sum_index < 0 || !cell.right.useful || !cell.held.useful) continue;  // an idle cell passes the sum on
      cell.sum = Mac::multiply_add(cell.held.value, cell.right.value, cell.sum);
      ++multiply_adds_;
    }
  }
  for (int64_t col = 0; col < array_.cols; ++col) {
    const Cell& last = at(array_.rows - 1, col);
    if (last.sum_index < 0) continue;
    // Behind the last fold the accumulator adds the last run; before, the sum waits for its next fold.
    const bool ends = row_base_ + array_.rows >= mapping_.along_rows;
    if (Sum* out = result(last.sum_index, col_base_ + col)) *out = ends ? total_of(out) + last.sum : last.sum;
    if (last.sum_index == mapping_.streamed - 1 && col == array_.cols - 1) ++fold_;
  }
}

// Output-stationary: x moves right, w moves down, and sums stay until their run ends. The skew of rows and columns lets
// operands of equal k meet in a cell. The order of the cells is that of step_stationary().
template <typename Mac>
void SteppedArray<Mac>::step_output(int64_t cycle) {
  const auto& [m, k, n] = product_.shape;
  for (int64_t row = array_.rows - 1; row >= 0; --row) {
    for (int64_t col = array_.cols - 1; col >= 0; --col) {
      Cell& cell = at(row, col);
      cell.right = col > 0 ? at(row, col - 1).right : operand(product_.x, row_base_ + row, m, cycle - row);
      cell.down = row > 0 ? at(row - 1, col).down : operand(product_.w, col_base_ + col, n, cycle - col);
      TANDEM_CHECK(cell.right.index == cell.down.index, "two operands with different k met in a cell");
      if (!cell.right.present()) continue;
      const bool useful = cell.right.useful && cell.down.useful, ends = cell.right.index == k - 1;
      Sum* out = useful ? product_.y + (row_base_ + row) * n + col_base_ + col : nullptr;
      if (out && begins_later_run(cell.right.index)) {
        total_of(out) += cell.sum;
        cell.sum = Sum{};
      }
      if (out) {
        cell.sum = Mac::multiply_add(cell.down.value, cell.right.value, cell.sum);
        ++multiply_adds_;
      }
      // The sum is complete: a shadow register takes it out while the next fold streams.
      if (out && ends) *out = total_of(out) + cell.sum;
      if (!ends) continue;
      if (row == array_.rows - 1 && col == array_.cols - 1) ++fold_;
    }
  }
}

// Outside [0, K) nothing moves. A row beyond the matrix sends zeros that take part in no product, since a fold always
// uses the whole array.
template <typename Mac>
typename SteppedArray<Mac>::Moving SteppedArray<Mac>::operand(const Operand* matrix, int64_t row, int64_t rows,
                                                              int64_t k) const {
  if (k < 0 || k >= product_.shape.k) return {};
  const bool useful = row < rows;
  return {useful ? matrix[row * product_.shape.k + k] : Operand{}, k, useful};
}

// Element [col, k] of the operand that stays in the cells: w or x, depending on the dataflow.
template <typename Mac>
typename SteppedArray<Mac>::Moving SteppedArray<Mac>::stationary(int64_t k, int64_t col) const {
  const bool weights = dataflow_ == Dataflow::weight_stationary;
  return operand(weights ? product_.w : product_.x, col, mapping_.along_cols, k);
}

// Element [element, k] of the operand that moves past the cells. Before its first row and behind its last one
// nothing moves.
template <typename Mac>
typename SteppedArray<Mac>::Moving SteppedArray<Mac>::streamed(int64_t element, int64_t k) const {
  if (element < 0 || element >= mapping_.streamed) return {};
  const bool weights = dataflow_ == Dataflow::weight_stationary;
  Moving moving = operand(weights ? product_.x : product_.w, element, mapping_.streamed, k);
  moving.index = element;  // a row past K carries the wave, but nothing useful
  return moving;
}

// The place of a sum in y. An array column beyond the product has none.
template <typename Mac>
typename Mac::Sum* SteppedArray<Mac>::result(int64_t element, int64_t col) const {
  if (col >= mapping_.along_cols) return nullptr;
  const int64_t n = product_.shape.n;
  return product_.y + (dataflow_ == Dataflow::weight_stationary ? element * n + col : col * n + element);
}

template class SteppedArray<FloatMac>;
template class SteppedArray<IntMac>;

}  // namespace tandem::npu_emu
