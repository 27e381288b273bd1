// The product of a row of decoded weights and a token's activations, by the numeric contract (docs/numbers.md). This is
// the plain definition, and every faster path gives the same bits.
#pragma once

#include <cmath>

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

inline float row_product(const float* weights, const float* x, int64_t columns) {
  return row_product(weights, x, columns, [](float w, float a, float sum) { return std::fma(w, a, sum); });
}

}  // namespace tandem
