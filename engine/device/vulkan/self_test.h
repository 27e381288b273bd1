// Tests that a device must pass at start before anything relies on it.
//
// Contract: every test is bounded in time. Threads: one. A test that may have two outcomes returns them; Error when the
// driver fails otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/self_test_parts.h"
#include "engine/device/vulkan/pipelines.h"

namespace tandem::vulkan {

using gpu::Proof;
// Whether shader and host see each other's stores in one allocation.
Proof prove_zero_copy(Handle& handle, Pipelines& pipelines);
// Whether fma rounds once, by cases in which multiplying and then adding gives other bits.
bool prove_fused_fma(Handle& handle, Pipelines& pipelines);
bool prove_quotients(Handle& handle, Pipelines& pipelines);  // whether quotients and roots are rounded once
// Whether sums of four products of bytes are exact, at both ends of what a byte may be. False if the device lacks them.
bool prove_packed_dot(Handle& handle, Pipelines& pipelines);
// Whether products on cooperative matrices (shaders/matmul_units.glsl) have the bits of products without them: 64 rows
// and 64 tokens, codes of 4 and of 8 bits. context: of the device, with its units. fused_fma: result of
// prove_fused_fma(); then the bits must be the host's.
bool prove_matrix_units(Handle& handle, Pipelines& pipelines, const gpu::LoweringContext& context, bool fused_fma);
// Number of loop iterations that an invocation may run; 0: any number. lavapipe ends loops after 65,535
// iterations, silently.
int64_t find_loop_budget(Handle& handle, Pipelines& pipelines);

// Tests every policy (docs/sync.md). shared: memory is imported; otherwise flags are the host thread's. loop_budget:
// result of find_loop_budget().
std::vector<PolicyTest> test_policies(Handle& handle, Pipelines& pipelines, bool shared, int64_t loop_budget,
                                      const Precautions& precautions);

}  // namespace tandem::vulkan
