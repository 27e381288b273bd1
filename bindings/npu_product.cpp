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

constexpr double kMostUpdates = 2e10;  // of cells: some seconds
constexpr int64_t kMostSide = int64_t{1} << 20, kMostCells = 4096;

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

}  // namespace

// Counts the cycles by formula first, which costs nothing, and refuses a product that would take minutes. Then the
// stepped array computes the values.
NpuProduct npu_product(const std::vector<float>& x, const std::vector<float>& w, int64_t m, int64_t k, int64_t n,
                       int64_t rows, int64_t cols, const std::string& dataflow) {
  for (const auto& [what, size] : {std::pair("M", m), {"K", k}, {"N", n}}) require_size(what, size, kMostSide);
  for (const auto& [what, size] : {std::pair("rows", rows), {"cols", cols}}) require_size(what, size, kMostCells);
  if (std::ssize(x) != m * k || std::ssize(w) != n * k)
    throw UsageError("the operands do not fit the product",
                     std::to_string(x.size()) + " and " + std::to_string(w.size()), "Give M x K and N x K values");
  const auto flow = npu_emu::dataflow(dataflow);
  if (!flow) throw UsageError("the dataflow is unknown", dataflow.substr(0, 80), "Give ws, os or is");
  const npu_emu::ArrayShape array{rows, cols};
  const npu_emu::ProductShape shape{m, k, n};
  const npu_emu::CycleCount count = npu_emu::count_cycles(array, *flow, shape);
  if (static_cast<double>(count.cycles) * static_cast<double>(rows * cols) > kMostUpdates)
    throw UsageError("the product is too large to be moved cell by cell", std::to_string(count.cycles) + " cycles",
                     "Take a smaller one; `tandem npu gemm` counts the cycles of any");
  NpuProduct product{std::vector<float>(static_cast<size_t>(m * n)), n, count.cycles, count.folds, count.utilization};
  const std::vector<float> xh = in_halves(x), wh = in_halves(w);
  npu_emu::SteppedArray<npu_emu::FloatMac>(array, *flow, {shape, xh.data(), wh.data(), product.values.data()}).run();
  return product;
}

}  // namespace tandem::bindings
