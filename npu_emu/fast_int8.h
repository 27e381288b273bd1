// The INT8 mode's fast path: int8 operands, exact int32 sums, one scale per column applied when a sum leaves the array.
//
// Contract: y[s, n] = float(sum over k of w[n, k] * x[s, k]) * scale[n]. Sums are exact, so any order gives the stepped
// simulation's bits. K above 131,071 could overflow an int32 sum and is a tandem::Error. Dense row-major operands,
// borrowed. Pure.
#pragma once

#include <cstdint>

#include "npu_emu/array.h"

namespace tandem::npu_emu {

// What leaves the array for a finished sum.
inline float drain_int8(int32_t sum, float scale) { return static_cast<float>(sum) * scale; }

void check_int8_depth(int64_t k);
void fast_int8(const ProductShape& shape, const int8_t* x, const int8_t* w, const float* scale, float* y);

}  // namespace tandem::npu_emu
