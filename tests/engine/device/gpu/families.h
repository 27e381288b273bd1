// Both ways of writing kernels, for tests of what holds for each.
#pragma once

#include "engine/device/gpu/lower.h"

namespace tandem::gpu {

inline constexpr KernelFamily kFamilies[] = {KernelFamily::simd, KernelFamily::simt};

}  // namespace tandem::gpu
