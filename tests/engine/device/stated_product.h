// Products as the contract states them (docs/numbers.md), by the plain decoder and one element at a time. Devices
// without fused multiply-adds have the same order of sums, and round every product.
#pragma once

#include "engine/device/operator.h"

namespace tandem::testing {

// a * b + sum.
using MultiplyAdd = float (*)(float a, float b, float sum);
float in_one_rounding(float a, float b, float sum);
float in_two_roundings(float a, float b, float sum);

// Computes the operator's rows of y.
void run_stated_product(const MatMul& op, MultiplyAdd multiply_add);

}  // namespace tandem::testing
