// Finds out with which instruction simd kernels may add products of bytes (AVX-512 VNNI, AVX2).
//
// A CPU driver's answers do not say that: PoCL's code for a Xeon is that of its predecessors. So each instruction
// is tried.
//
// Contract: each test builds a kernel, launches it and checks its sums. Threads: one.
#pragma once

#include <vector>

#include "engine/device/gpu/lower.h"
#include "engine/device/opencl/program_cache.h"
#include "engine/device/proof/precautions.h"

namespace tandem::opencl {

// The instructions of this processor, on which a CPU device's kernels run: best first, plain C last.
std::vector<gpu::ByteProducts> host_byte_products();
// Whether kernels with this instruction can be built and add correctly.
bool products_proven(gpu::ByteProducts how, ProgramCache& programs, const cl::CommandQueue& queue);
// The best instruction of this processor that is proven. Instructions whose step ("vpdpbusd", "vpmaddubsw") must be
// spared are not tried.
gpu::ByteProducts best_byte_products(ProgramCache& programs, const cl::CommandQueue& queue,
                                     const Precautions& precautions);

// Decides which programs the cache may keep: all, or those without inline assembly, or none (steps "kept programs" and
// "kept assembly"). Kernels contain inline assembly unless `how` is plain. A watched process asks the driver for a
// compiled program; other processes rely on the result.
void settle_keeping(ProgramCache& programs, gpu::ByteProducts how, const Precautions& precautions);

// The way in which the device adds four products of bytes with exact sums: NVIDIA's instruction on its devices, or
// cl_khr_integer_dot_product where it is listed.
gpu::PackedDot prove_packed_dot(ProgramCache& programs, const cl::CommandQueue& queue);

// Whether products on NVIDIA's matrix units (kernels/matmul_units_simt.cl) have the host's bits: 64 rows and 64 tokens,
// codes of 4 and of 8 bits. No other device is asked.
gpu::MatrixUnits prove_matrix_units(ProgramCache& programs, const cl::CommandQueue& queue);

}  // namespace tandem::opencl
