// A self-test of the emulator on the machine that it runs on; callers run it before they rely on the results.
#pragma once

#include "packed/loops/exact_loops.h"

namespace tandem::npu_emu {

// True if a chain of these loops rounds once per step, as the numeric contract demands.
bool fma_is_fused(const ExactLoops& loops);

}  // namespace tandem::npu_emu
