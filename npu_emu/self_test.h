// What the emulator proves about itself on the machine it runs on, before anybody relies on it.
#pragma once

#include "npu_emu/fast_kernels.h"

namespace tandem::npu_emu {

// Whether a chain of these kernels rounds once per step, as the numeric contract says.
bool fma_is_fused(const FastKernels& kernels);

}  // namespace tandem::npu_emu
