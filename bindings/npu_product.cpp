// A product on the emulated array for people who want to see its cycles. The emulation moves each value from cell to
// cell, so the product must be small.
#include "bindings/npu_product.h"

#include <algorithm>

#include "bindings/failure.h"
#include "npu_emu/cycle_model.h"
#include "npu_emu/stepped.h"
#include "packed/half.h"

namespace tandem::bindings {
namespace {

constexpr double kMostUpdates = 2e10;              // of cells: a minute or two
constexpr int64_t kUpdatesBetweenLooks = 4 << 20;  // some hundredths of a second
constexpr int64_t kMostSide = int64_t{1} << 20, kMostCells = 4096;
constexpr int64_t kMostValues = int64_t{1} << 27;  // of an operand or the result: 512 MiB

void require_size(const char* what, int64_t size, int64_t most) {
  if (size >= 1 && size <= most) return;
  throw UsageError("a size of the product is out of range", std::string(what) + " " + std::to_string(size),
                   "Give a number from 1 to " + std::to_string(most));
}

// The array's inputs are halves. Rounding them here gives the caller the values that a real array would multiply.
std::vector<float> in_halves(std::vector<float> values) {
  std::ranges::transform(values, values.begin(), round_to_half);
  return values;
}

// Counts the cycles by formula, which costs nothing, and refuses a product that would take minutes.
npu_emu::CycleCount counted(int64_t m, int64_t k, int64_t n, int64_t rows, int64_t cols, const std::string& dataflow) {
  for (const auto& [what, size] : {std::pair("M", m), {"K", k}, {"N", n}}) require_size(what, size, kMostSide);
  for (const auto& [what, size] : {std::pair("rows", rows), {"cols", cols}}) require_size(what, size, kMostCells);
  const auto flow = npu_emu::dataflow(dataflow);
  if (!flow) throw UsageError("the dataflow is unknown", dataflow.substr(0, 80), "Give ws, os or is");
  const npu_emu::CycleCount count = npu_emu::count_cycles({rows, cols}, *flow, {m, k, n});
  if (static_cast<double>(count.cycles) * static_cast<double>(rows * cols) > kMostUpdates ||
      std::max({m * k, n * k, m * n}) > kMostValues)
    throw UsageError("the product is too large to be moved cell by cell", std::to_string(count.cycles) + " cycles",
                     "Take a smaller one; `tandem npu gemm` counts the cycles of any");
  return count;
}

}  // namespace

int64_t npu_cycles(int64_t m, int64_t k, int64_t n, int64_t rows, int64_t cols, const std::string& dataflow) {
  return counted(m, k, n, rows, cols, dataflow).cycles;
}

// The stepped array computes the values of a product that counted() has found small enough.
NpuProduct npu_product(const std::vector<float>& x, const std::vector<float>& w, int64_t m, int64_t k, int64_t n,
                       int64_t rows, int64_t cols, const std::string& dataflow, const Patience& patience) {
  const npu_emu::CycleCount count = counted(m, k, n, rows, cols, dataflow);
  if (std::ssize(x) != m * k || std::ssize(w) != n * k)
    throw UsageError("the operands do not fit the product",
                     std::to_string(x.size()) + " and " + std::to_string(w.size()), "Give M x K and N x K values");
  NpuProduct product{std::vector<float>(static_cast<size_t>(m * n)), n, count.cycles, count.folds, count.utilization};
  const std::vector<float> xh = in_halves(x), wh = in_halves(w);
  npu_emu::SteppedArray<npu_emu::FloatMac> array({rows, cols}, *npu_emu::dataflow(dataflow),
                                                 {{m, k, n}, xh.data(), wh.data(), product.values.data()});
  const int64_t between_looks = std::max<int64_t>(1, kUpdatesBetweenLooks / (rows * cols));
  for (int64_t cycle = 1; !array.done(); ++cycle) {
    array.step();
    if (cycle % between_looks != 0) continue;
    if (patience.look) patience.look();
    if (patience.is_over && patience.is_over()) throw Interrupted();
  }
  return product;
}

}  // namespace tandem::bindings
