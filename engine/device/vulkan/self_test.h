// What a device must show at start before anything relies on it. Every test is bounded in time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/gpu/self_test_parts.h"
#include "engine/device/vulkan/pipelines.h"

namespace tandem::vulkan {

using gpu::Proof;
// Shader and host see each other's stores in one allocation.
Proof prove_zero_copy(Handle& handle, Pipelines& pipelines);
// fma rounds once: cases in which multiply-then-add gives other bits.
bool prove_fused_fma(Handle& handle, Pipelines& pipelines);
bool prove_quotients(Handle& handle, Pipelines& pipelines);  // and roots are rounded once
// Sums of four products of bytes are exact, at both ends of what a byte may be; where the device has them at all.
bool prove_packed_dot(Handle& handle, Pipelines& pipelines);
// How many loop iterations an invocation may run; 0: as many as it likes. lavapipe ends them after 65,535, silently.
int64_t find_loop_budget(Handle& handle, Pipelines& pipelines);

// Every policy (docs/sync.md). shared: memory is imported; otherwise flags are the host thread's.
// loop_budget: find_loop_budget().
std::vector<PolicyTest> test_policies(Handle& handle, Pipelines& pipelines, bool shared, int64_t loop_budget,
                                      const Precautions& precautions);

}  // namespace tandem::vulkan
