// Tests that a device must pass at start before anything relies on it.
//
// Contract: every test is bounded in time. Threads: one. A test that may have two outcomes returns them; Error when the
// driver fails otherwise.
#pragma once

#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/gpu/self_test_parts.h"
#include "engine/device/opencl/gates.h"
#include "engine/device/opencl/program_cache.h"
#include "engine/device/proof/precautions.h"

namespace tandem::opencl {

// Build options of every program on this device that do not depend on its compiler.
std::string options_of_every_program(const cl::Device& device);
// How many vectors of 16 floats fit the device's vector registers.
int64_t vector_registers(const cl::Device& device);

// Finds the options of every program on the device (the prefetch builtin, if the compiler has it). Keeps the programs
// that were built for that. Error with the build log if not even the plain probe builds.
ProgramCache open_programs(Handle handle, const ProgramFiles& files, const OnLongWork& on_long_work,
                           const Precautions& precautions);

using gpu::Proof;
// Whether kernel and host see each other's stores in one allocation without map or copy, and a map returns the host's
// own pointer.
Proof prove_zero_copy(ProgramCache& programs, const cl::CommandQueue& queue);
// Whether fma rounds once, by cases in which multiplying and then adding gives other bits.
bool prove_fused_fma(ProgramCache& programs, const cl::CommandQueue& queue);
// Whether quotients and roots are rounded once.
bool prove_quotients(ProgramCache& programs, const cl::CommandQueue& queue);

// Number of iterations after which the driver ends the loops of a work-item; 0: it does not end them.
uint32_t find_loop_budget(ProgramCache& programs, const cl::CommandQueue& queue);

// Tests every policy (docs/sync.md). gates: nullptr if memory is not shared, or if the step must be spared;
// without_gates says why. On a CPU device with one core nothing may spin beside the host.
std::vector<PolicyTest> test_policies(ProgramCache& programs, const cl::CommandQueue& queue, Gates* gates,
                                      const std::string& without_gates, sync::Pool& pool, const DeviceInfo& info,
                                      const Precautions& precautions);

}  // namespace tandem::opencl
