// By which instruction simd kernels may add products of bytes (AVX-512 VNNI, AVX2): what a CPU driver says of its
// device does not tell (PoCL's code for a Xeon is that of its predecessors), so it is tried.
#pragma once

#include <vector>

#include "engine/device/gpu/lower.h"
#include "engine/device/opencl/program_cache.h"
#include "engine/device/proof/precautions.h"

namespace tandem::opencl {

// What this processor has, which a CPU device's kernels run on: best first, plain C last.
std::vector<gpu::ByteProducts> host_byte_products();
// Kernels by it were built, and what they add is right.
bool products_proven(gpu::ByteProducts how, ProgramCache& programs, const cl::CommandQueue& queue);
// The first of those that this processor has which is proven, and whose step ("vpdpbusd", "vpmaddubsw") is not to be
// spared.
gpu::ByteProducts best_byte_products(ProgramCache& programs, const cl::CommandQueue& queue,
                                     const Precautions& precautions);

// Has the cache keep what the driver can be asked for: all programs, or those without inline assembly, which `how`
// stands for, or none (steps "kept programs" and "kept assembly"). A watched process asks; others go by what became of
// it.
void settle_keeping(ProgramCache& programs, gpu::ByteProducts how, const Precautions& precautions);

// Sums by cl_khr_integer_dot_product are exact, where the device has it.
bool prove_packed_dot(ProgramCache& programs, const cl::CommandQueue& queue);

}  // namespace tandem::opencl
