#include "npu_emu/fast_int8.h"

#include <string>

#include "sync/error.h"

namespace tandem::npu_emu {

void check_int8_depth(int64_t k) {
  // The largest product is 128 * 128 = 2^14; a sum of 2^31 / 2^14 = 131,072 of them would overflow.
  constexpr int64_t kDeepest = (int64_t{1} << 17) - 1;
  if (k > kDeepest) {
    throw Error("an int8 product is too deep for int32 sums", "K " + std::to_string(k),
                "cut K into parts of at most " + std::to_string(kDeepest));
  }
}

// Integer sums are exact in any order, so these loops need no chain. The scale is applied once, when a sum leaves
// the array.
void fast_int8(const ProductShape& shape, const int8_t* x, const int8_t* w, const float* scale, float* y) {
  check_int8_depth(shape.k);
  for (int64_t n = 0; n < shape.n; ++n) {
    const int8_t* row = w + n * shape.k;
    for (int64_t s = 0; s < shape.m; ++s) {
      const int8_t* token = x + s * shape.k;
      int32_t sum = 0;
      for (int64_t k = 0; k < shape.k; ++k) sum += static_cast<int32_t>(row[k]) * token[k];
      y[s * shape.n + n] = drain_int8(sum, scale[n]);
    }
  }
}

}  // namespace tandem::npu_emu
