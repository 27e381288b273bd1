// What a device must show at start before anything relies on it. Every test is bounded in time.
#pragma once

#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/gpu/self_test_parts.h"
#include "engine/device/opencl/gates.h"
#include "engine/device/opencl/program_cache.h"
#include "engine/device/proof/precautions.h"

namespace tandem::opencl {

// The build options that every program of such a device has, whatever its compiler knows.
std::string options_of_every_program(const cl::Device& device);
// How often 16 floats fit its vector registers.
int64_t vector_registers(const cl::Device& device);

// Finds the options every program of the device gets (the prefetch builtin, where the compiler has it), and keeps what
// was built to find them. Error with the build log when not even the plain probe builds.
ProgramCache open_programs(Handle handle, const ProgramFiles& files, const OnLongWork& on_long_work,
                           const Precautions& precautions);

using gpu::Proof;
// Kernel and host see each other's stores in one allocation, without map or copy, and a map gives the host's own
// pointer.
Proof prove_zero_copy(ProgramCache& programs, const cl::CommandQueue& queue);
// fma rounds once: cases in which multiply-then-add gives other bits.
bool prove_fused_fma(ProgramCache& programs, const cl::CommandQueue& queue);
// Quotients and roots are rounded once.
bool prove_quotients(ProgramCache& programs, const cl::CommandQueue& queue);

// Iterations after which the driver ends a work-item's loops; 0: it does not.
uint32_t find_loop_budget(ProgramCache& programs, const cl::CommandQueue& queue);

// Every policy (docs/sync.md). gates: nullptr where memory is not shared; on a CPU device with one core only nothing
// may spin beside the host. without_gates: why there are none.
std::vector<PolicyTest> test_policies(ProgramCache& programs, const cl::CommandQueue& queue, Gates* gates,
                                      const std::string& without_gates, sync::Pool& pool, const DeviceInfo& info,
                                      const Precautions& precautions);

}  // namespace tandem::opencl
