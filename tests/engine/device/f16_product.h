// A product of small integers in f16, for tests of the code that runs it. The result is exact on every device.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/operator.h"
#include "engine/tensor/packed.h"
#include "sync/pool.h"

namespace tandem::testing {

// Packs weights [N, K]. value(n, k) must be exact in f16.
template <typename Value>
void pack_f16_weights(sync::Slot& weights, int64_t N, int64_t K, const Value& value) {
  std::vector<uint16_t> row(static_cast<size_t>(K));
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t k = 0; k < K; ++k) row[static_cast<size_t>(k)] = float_to_half(static_cast<float>(value(n, k)));
    pack_rows(StorageType::f16, row.data(), K, n, 1, weights.data());
  }
}

// y [S, N] = W x with such weights and x [S, K]. The slots hold nothing else.
inline MatMul f16_product(int64_t S, int64_t N, int64_t K, sync::Slot& weights, sync::Slot& x, sync::Slot& y) {
  MatMul op;
  op.S = S;
  op.K = op.x_stride = K;
  op.row_end = op.y_stride = N;
  op.w = {packed_format(StorageType::f16), N, K, {&weights, 0}};
  op.x = {&x, 0};
  op.y = {&y, 0};
  return op;
}

}  // namespace tandem::testing
