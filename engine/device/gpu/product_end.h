// The end of a product's launch: a launch of few tokens may do more with its totals than store them. Only kernels of
// weights in pieces of rows can (kernels/matmul_rows_simt.cl, shaders/matmul_rows.glsl).
#pragma once

#include "engine/device/gpu/launch.h"
#include "engine/device/gpu/lower.h"
#include "engine/device/operator.h"

namespace tandem::gpu {

struct ProductEnd {
  Operand bias;               // f32 [N], added to each total before it is stored; or absent
  const Add* add = nullptr;   // what is stored is added to its x
  const Glu* unit = nullptr;  // its result is computed of what is stored; not with `add`
};

// Whether the last launch of this operator's lowering takes an end.
bool takes_end(const MatMul& op, const KernelLaunch& launch, const LoweringContext& context);
// Gives a launch the arguments of an end that does nothing. Lowering does so with every launch that takes one. The
// arguments are the weights and y, because the launch reads and writes these anyway.
void add_no_end(const MatMul& op, KernelLaunch& launch);
// Sets the end of a launch that has the arguments.
void set_end(const ProductEnd& end, KernelLaunch& launch);

}  // namespace tandem::gpu
