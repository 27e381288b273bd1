// Simulates the array cycle by cycle and cell by cell. Values move one cell a cycle, and no cell computes before its
// operands arrive.
//
// Contract
//   Function: the same bits as the fast path, in every dataflow and with any depth of the array. A cell adds to one
//   chain, acc = fma(w, a, acc), k ascending. A sum leaves the array beside its column when a run of columns ends
//   (packed/runs.h), and the next run begins at zero. Accumulators outside the array add up the runs. int32 sums are
//   exact.
//   Timing: step() runs one cycle. done() turns true in the cycle in which the last wave leaves the array. The
//   simulation finds it by watching the cells, not by a formula. cycles() then is one more than count_cycles().cycles
//   ("last index").
//   Ownership: the caller owns operands and results, all dense row-major: x[M][K], w[N][K], y[M][N]. y is also the
//   memory of the partial sums between folds. Meant for small sizes: a cycle costs R x C cell updates. One thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "npu_emu/array.h"

namespace tandem::npu_emu {

struct FloatMac {  // fp16 and decoded int4 operands, already rounded; f32 sums
  using Operand = float;
  using Sum = float;
  static Sum multiply_add(Operand w, Operand a, Sum sum) { return std::fma(w, a, sum); }
};

struct IntMac {  // int8 operands, int32 sums
  using Operand = int8_t;
  using Sum = int32_t;
  static Sum multiply_add(Operand w, Operand a, Sum sum) { return sum + static_cast<Sum>(w) * static_cast<Sum>(a); }
};

template <typename Mac>
struct SteppedProduct {
  ProductShape shape;
  const typename Mac::Operand* x = nullptr;
  const typename Mac::Operand* w = nullptr;
  typename Mac::Sum* y = nullptr;
};

template <typename Mac>
class SteppedArray {
 public:
  using Operand = typename Mac::Operand;
  using Sum = typename Mac::Sum;

  // An operand that travels through the array. `index` is the streamed element with ws and is, and k with os. A wave
  // also passes cells outside the product; there the operand is present but not useful.
  struct Moving {
    Operand value{};
    int64_t index = -1;
    bool useful = false;
    bool present() const { return index >= 0; }
  };
  struct Cell {
    Moving held;   // ws, is: the stationary operand
    Moving right;  // the operand that moves to the next column
    Moving down;   // os: the operand that moves to the next row
    Sum sum{};     // ws, is: moves down; os: stays
    int64_t sum_index = -1;
  };

  SteppedArray(const ArrayShape& array, Dataflow dataflow, const SteppedProduct<Mac>& product);

  bool done() const { return fold_ == mapping_.folds(); }
  void step();
  int64_t run();  // steps to the end; returns the number of cycles

  int64_t cycles() const { return cycles_; }
  int64_t multiply_adds() const { return multiply_adds_; }  // counts useful ones only
  int64_t fold() const { return fold_; }
  const Cell& cell(int64_t row, int64_t col) const { return cells_[static_cast<size_t>(row * array_.cols + col)]; }

 private:
  Cell& at(int64_t row, int64_t col) { return cells_[static_cast<size_t>(row * array_.cols + col)]; }
  void begin_fold();
  void load_row(int64_t cycle);
  void step_stationary(int64_t cycle);
  void step_output(int64_t cycle);
  Moving stationary(int64_t k, int64_t col) const;
  Moving streamed(int64_t element, int64_t k) const;
  Moving operand(const Operand* matrix, int64_t row, int64_t rows, int64_t k) const;
  Sum* result(int64_t element, int64_t col) const;  // nullptr outside the product
  bool begins_later_run(int64_t k) const { return k < product_.shape.k && begins_later_run_[static_cast<size_t>(k)]; }
  Sum& total_of(const Sum* result) { return totals_[static_cast<size_t>(result - product_.y)]; }

  ArrayShape array_;
  Dataflow dataflow_;
  SteppedProduct<Mac> product_;
  Mapping mapping_;
  std::vector<Cell> cells_;
  std::vector<Sum> totals_;                         // the accumulators: [M][N] sums of the runs that have ended
  std::vector<bool> begins_later_run_;              // of each column
  int64_t fold_ = 0, row_base_ = 0, col_base_ = 0;  // of the current fold, in elements
  int64_t fold_cycle_ = 0, cycles_ = 0, multiply_adds_ = 0;
};

extern template class SteppedArray<FloatMac>;
extern template class SteppedArray<IntMac>;

}  // namespace tandem::npu_emu
