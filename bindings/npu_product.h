// One matrix product on the emulated NPU's array, cell by cell.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/text_model.h"

namespace tandem::bindings {

struct NpuProduct {
  std::vector<float> values;  // [M, N]
  int64_t columns = 0;        // N
  int64_t cycles = 0, folds = 0;
  double utilization = 0;  // useful multiply-adds / (cells * cycles)
};

// Cycles of a product, by formula. UsageError: a size or a name is none, or the product is too large to be moved cell
// by cell.
int64_t npu_cycles(int64_t m, int64_t k, int64_t n, int64_t rows, int64_t cols, const std::string& dataflow);

// x [M, K] times w [N, K], both rounded to f16 as the array's inputs are. dataflow: "ws", "os", "is". UsageError: as
// above, or there are too many values or too few. Interrupted: patience.is_over() was true. It and patience.look() are
// called on this thread, every few hundredths of a second.
NpuProduct npu_product(const std::vector<float>& x, const std::vector<float>& w, int64_t m, int64_t k, int64_t n,
                       int64_t rows, int64_t cols, const std::string& dataflow, const Patience& patience = {});

}  // namespace tandem::bindings
