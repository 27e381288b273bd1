// Both families of kernels, for tests of properties that hold for each.
#pragma once

#include "engine/device/gpu/lower.h"

namespace tandem::gpu {

inline constexpr KernelFamily kFamilies[] = {KernelFamily::simd, KernelFamily::simt};

}  // namespace tandem::gpu
