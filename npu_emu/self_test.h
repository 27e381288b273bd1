// A self-test of the emulator on the machine that it runs on; callers run it before they rely on the results.
#pragma once

#include "npu_emu/fast_kernels.h"

namespace tandem::npu_emu {

// True if a chain of these kernels rounds once per step, as the numeric contract demands.
bool fma_is_fused(const FastKernels& kernels);

}  // namespace tandem::npu_emu
