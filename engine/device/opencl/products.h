// Whether kernels may name the instruction that adds four products of bytes (AVX-512 VNNI): what a CPU driver says of
// its device does not tell (PoCL's code for a Xeon is that of its predecessors), so it is tried.
#pragma once

#include "engine/device/opencl/program_cache.h"

namespace tandem::opencl {

bool host_has_vpdpbusd();  // this processor, which a CPU device's kernels run on
// A kernel with it was built, and what it adds is right. Only where host_has_vpdpbusd().
bool products_proven(ProgramCache& programs, const cl::CommandQueue& queue);

}  // namespace tandem::opencl
