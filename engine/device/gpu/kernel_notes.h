// Says in words which kernels a GPU's products use, and what was proven about them (`tandem devices -v`).
#pragma once

#include <string>
#include <vector>

#include "engine/device/gpu/lower.h"

namespace tandem::gpu {

// One sentence without a full stop for each choice of lower_matmul() and lower_act_i8(). The context is that of a
// device that has proven its instructions.
std::vector<std::string> kernel_notes(const LoweringContext& context);

}  // namespace tandem::gpu
