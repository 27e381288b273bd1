// The fast path of the INT8 mode: int8 operands, exact int32 sums, and one scale per column that is applied when a sum
// leaves the array.
//
// Contract: y[s, n] = float(sum over k of w[n, k] * x[s, k]) * scale[n]. Sums are exact, so any order gives the bits of
//   the stepped simulation. A K above 131,071 could overflow an int32 sum and is a tandem::Error. Operands are dense,
//   row-major and borrowed. Pure functions.
#pragma once

#include <cstdint>

#include "npu_emu/array.h"

namespace tandem::npu_emu {

// The value that leaves the array for a finished sum.
inline float drain_int8(int32_t sum, float scale) { return static_cast<float>(sum) * scale; }

void check_int8_depth(int64_t k);
void fast_int8(const ProductShape& shape, const int8_t* x, const int8_t* w, const float* scale, float* y);

}  // namespace tandem::npu_emu
